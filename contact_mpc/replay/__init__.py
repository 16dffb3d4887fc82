"""Bags read without ROS: records, metrics, recomputed commands and HTML reports."""
