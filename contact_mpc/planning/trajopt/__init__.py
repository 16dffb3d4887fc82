"""Trajectory optimisation of a task: its program, gradients, and whether a start and a goal can be held.

No new grasps on the way.
"""
