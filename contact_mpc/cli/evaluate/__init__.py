"""``contact-mpc evaluate``: many trials with a bar and tables. Trials themselves are in `evaluation`, not here."""
