"""``contact-mpc view``: a running stack or a recorded run in a browser. The scene itself is in `view`, not here."""
