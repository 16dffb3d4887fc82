"""Many trials with perturbed starts and plants: drawing, running, storing, statistics. Draws no pictures."""
