"""Engines that play the world, by name (`registry`).

Nothing here may import what plans or controls: a controller is never graded by its own model.
"""
