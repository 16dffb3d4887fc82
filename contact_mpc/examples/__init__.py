"""The results of the talk on convex quasi-static time stepping, as runnable examples with plots and data.

Only commands import them.
"""
