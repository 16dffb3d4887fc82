"""Fault injection: the real processes on the embedded plant, a relay that spoils messages, a monitor on the wire.

Nothing that runs on a robot.
"""
