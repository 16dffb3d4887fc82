"""Trees through contact: problem, growth, regrasps, steering, plans.

Needs dynamics and optimisation, no controllers or plants.
"""
