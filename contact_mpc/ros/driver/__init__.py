"""A robot's driver as the nodes see it: names, topics and types of its messages, from both ends.

Joint states that come in parts, commands in the driver's order and type; no control.
"""
