"""The 1 kHz command bridge without ROS: joint impedance, guard, plan buffer, watches, causes.

All that a safety reviewer reads: it needs only settings, model, task, and of geometry how
near two segments are.
"""
