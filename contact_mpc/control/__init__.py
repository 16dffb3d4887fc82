"""Controllers by name. The bridge and the trackers live in folders of their own and do not import each other."""
