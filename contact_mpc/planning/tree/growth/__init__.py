"""The compiled core of a tree: one iteration grows it by an extension or a new grasp. Flat arrays, no files."""
