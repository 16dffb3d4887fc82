"""The ``contact-mpc`` command: one file per command, imported when it is called."""
