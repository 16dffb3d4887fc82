"""What every engine shares: face of a plant, perturbations, actuation, sensors.

Imports settings, model and task alone.
"""
