"""Methods of planning by name, start postures and references.

The methods live in folders of their own; no controllers here.
"""
