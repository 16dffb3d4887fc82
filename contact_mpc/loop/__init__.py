"""The whole loop in one process: plant, sensors, estimator, controller and bridge, stepped in turn.

No DDS, no statistics.
"""
