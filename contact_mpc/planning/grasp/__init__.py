"""Start grasps: force balance, search over postures, rolling contact."""
