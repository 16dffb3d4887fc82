"""The whole stack as processes: parameters, start and end, DDS domain and discovery, runs and trials through the nodes.

The whole stack as processes: parameters, start and end, DDS domain and discovery, runs and trials through the nodes.
"""
