"""Any two convex shapes, compiled: nearest features by GJK and EPA, how they move, contacts of faces on each other.

Knows shapes and poses, no systems and no dynamics.
"""
