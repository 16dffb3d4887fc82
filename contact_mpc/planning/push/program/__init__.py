"""The nonlinear program of a push: variables, residuals, bounds, first guess, compiled functions.

No solver, no plan file.
"""
