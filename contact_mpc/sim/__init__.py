"""Plants with physics of their own (Drake, MuJoCo), their perturbations, and sensors with noise and delay.

The closed loop is graded against these engines, never against the model that the controller plans with.
"""
