"""The ``contact-mpc`` command: one folder per subject, one file per command, imported when it is called."""
