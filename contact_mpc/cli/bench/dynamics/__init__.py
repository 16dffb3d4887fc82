"""``contact-mpc bench`` of one step, its derivatives and one MPC iteration, with what they are measured on.

What is measured stands elsewhere.
"""
