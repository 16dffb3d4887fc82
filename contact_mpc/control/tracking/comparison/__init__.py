"""Other controllers for the same task, behind the face of the tracker's `Mpc`: the same loop and nodes run them.

None plans ahead of a run.
"""
