"""Smoothed quasi-dynamic contact steps and their exact derivatives."""
