"""Compile flags, where data files lie, reading and validating YAML, array types.

Knows nothing of robots or contacts.
"""
