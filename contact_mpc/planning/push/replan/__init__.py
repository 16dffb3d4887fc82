"""Pushes planned again while they run: receding horizon, observer of the slide, aim."""
