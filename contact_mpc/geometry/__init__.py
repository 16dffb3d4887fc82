"""Shapes, broad phase, signed distances and contact Jacobians, in closed form. No forces, no time steps."""
