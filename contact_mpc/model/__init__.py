"""Systems from YAML and URDF: kinematics, robots, objects, index maps, stiffness, limits, the state.

No tasks, no contacts, no dynamics.
"""
