"""Shapes, broad phase, signed distances and contact Jacobians, in closed form."""
