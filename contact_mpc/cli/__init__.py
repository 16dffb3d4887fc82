"""The ``contact-mpc`` command: one folder per subject, one file per command, imported when it is called.

What commands compute stands in the other folders, not here.
"""
