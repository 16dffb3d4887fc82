"""Turns too large for one grasp, as segments of turns and new grasps. No trees."""
