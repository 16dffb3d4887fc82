"""Systems from YAML and URDF: robots, objects, index maps, stiffness, limits; tasks, trajectories, plan files."""
