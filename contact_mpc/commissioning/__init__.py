"""Checks of a connected robot by small motions, before anything else moves it. Without ROS; decides nothing alone."""
