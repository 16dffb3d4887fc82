"""What is asked of a dynamics rather than stepped: equilibria, contact forces, random states, randomized smoothing.

How steps are solved stands elsewhere.
"""
