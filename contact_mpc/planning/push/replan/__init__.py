"""Pushes planned again while they run: receding horizon, observer of the slide, aim.

No ROS, no clock: states and times come in.
"""
