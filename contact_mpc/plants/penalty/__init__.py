"""Rigid bodies that overlap a little, and forces from the volume of the overlap (seeds/002): library and plant.

`meshes` and `solids` say what bodies are, `clip` (compiled) and `booleans` (manifold3d) what they share, `laws` what
force follows, `rigid_tree` what motion. It is the only engine here whose contacts are volumes, and the slowest one.
"""
