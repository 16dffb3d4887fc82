"""Start grasps: force balance, search over postures, rolling contact.

No motion but rolling, no new grasps on the way.
"""
