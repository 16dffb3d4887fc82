"""``contact-mpc plan`` by every method: options, progress and files. The methods themselves are in `planning`."""
