"""Where the page of the live view listens unless said otherwise; importing it does not import the view."""

LOOPBACK = "127.0.0.1"
