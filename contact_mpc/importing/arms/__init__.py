"""Arms: a simple end in the place of a hand, and pushes of objects on a table. No planning: they write files."""
