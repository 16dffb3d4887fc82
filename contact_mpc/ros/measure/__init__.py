"""Measurements of the bridge over DDS, and its peer, a bare timer. Nothing that runs on a robot."""
