"""Controllers that follow a reference: the MPC tracker, playback, turns with new grasps, and their watches.

No ROS, no bridge.
"""
