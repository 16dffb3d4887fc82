"""``contact-mpc doctor`` and ``hardware-check``: what is installed, and what a connected robot is like.

Nothing is installed or mended here.
"""
