"""How compiled code is made and kept: flags, cache on disk, its sources, calls by address. Nothing of contacts."""
