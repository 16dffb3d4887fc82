"""Where on its links a robot is touched, and how hard, from the torques of its joints: all places that explain them.

What torques alone cannot tell is kept, not hidden: of a contact with n joints below it there are n equations for five
unknowns (two of the place on a surface, three of the force), so with n < 5 the places that explain them are no points
but curves or regions. Nothing here needs a camera, an object or a planner, and nothing knows of ROS.
"""
