"""Problems that planning and control share: iterated linear-quadratic ones on the smoothed dynamics, least squares.

No task, no file.
"""
