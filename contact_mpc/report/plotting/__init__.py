"""Plots as plain data for plotly.js: figures, and what the pages draw with them. It knows no page."""
