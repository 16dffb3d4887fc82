"""``contact-mpc plan`` by every method: options, progress and files. The methods are in `planning`, not here."""
