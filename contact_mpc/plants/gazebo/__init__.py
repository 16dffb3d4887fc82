"""Gazebo classic 11 with ODE as plant: its world from a system, its server in a Debian 11 root, its client.

No model of planning or control.
"""
