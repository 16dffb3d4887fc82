"""Contact steps and their derivatives behind one face (`contact_dynamics`).

May import geometry and what is below, no planning.
"""
