"""Bags read without ROS: records, metrics, recomputed estimates and commands. Draws nothing."""
