"""Contact-implicit planning of dynamic pushes: one nonlinear program finds motion, contact times and forces.

After Sleiman et al., "Contact-Implicit Trajectory Optimization for Dynamic Object Manipulation" (seeds/004). Needs the
extra `contact-implicit` (casadi). Start at `task.plan_push` for a task, at `planner.ContactImplicitPlanner` for an
instance, at `receding_horizon.RecedingHorizon` for solving again while the plan runs.

No tracking: that is in `control`.
"""
