"""The compiled log-barrier step, its Newton iterations and its exact derivatives.

Compiled code and what it needs, no files.
"""
