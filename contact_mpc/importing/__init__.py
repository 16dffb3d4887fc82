"""Robots and objects of one's own: URDF, xacro and MJCF files to a system file, and a task from a few words.

Reads what others wrote, proposes what it lacks, and writes YAML and URDF. No planning, no contact dynamics.
"""
