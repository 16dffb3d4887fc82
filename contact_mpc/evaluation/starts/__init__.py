"""Starts of tasks: searched, held and turned from in physics, and put into their files.

No engine that judges evaluations by default takes part, and no bag or report.
"""
