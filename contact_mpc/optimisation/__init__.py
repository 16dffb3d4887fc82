"""Iterated linear-quadratic problems on the smoothed dynamics, shared by planning and control. No task, no file."""
