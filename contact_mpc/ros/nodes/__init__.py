"""The ROS 2 nodes: parameters, messages, life cycles around objects of the core.

No control law, no planning, no estimation of their own.
"""
