"""Tasks, plans, references, parameters of nodes, and what loops record.

Data and their checks; nothing here computes dynamics.
"""
