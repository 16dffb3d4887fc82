"""The whole stack as processes: parameters, start and end, DDS domain and discovery, runs and trials through the nodes.

None of the nodes of a robot is here.
"""
