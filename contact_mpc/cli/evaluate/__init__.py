"""``contact-mpc evaluate``: many trials with a bar and tables. Trials and statistics themselves are in `evaluation`."""
