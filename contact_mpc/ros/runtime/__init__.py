"""What every node stands on: base class, parameters, processes, real-time scheduling, life-cycle client.

What a node is about stands elsewhere.
"""
