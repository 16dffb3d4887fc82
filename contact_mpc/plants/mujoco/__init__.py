"""MuJoCo as plant."""
