"""``contact-mpc bench`` of what runs over DDS: the bridge, faults, fuzzing, goals. They start nodes.

No node itself is here.
"""
