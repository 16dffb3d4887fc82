"""Filtered state of robots and objects from joint states and delayed object poses. No ROS, no control."""
