"""``contact-mpc bench planning`` and ``contact-implicit``, with the problems that they are measured on.

What is measured stands elsewhere.
"""
