"""``python -m contact_mpc`` is the ``contact-mpc`` command."""

from contact_mpc.cli.main import main

main()
