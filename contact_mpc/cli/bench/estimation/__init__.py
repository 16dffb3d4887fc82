"""``contact-mpc bench contact-location``, with the contacts that it is measured on, not the estimator."""
