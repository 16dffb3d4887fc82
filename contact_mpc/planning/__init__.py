"""Trajectory optimisation: consistent references of q, u and contact impulses for the tracker."""
