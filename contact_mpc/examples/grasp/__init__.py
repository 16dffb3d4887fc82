"""What the example penalty_grasp is made of: grippers and objects as systems, a grasp in two engines.

No page, no figure.
"""
