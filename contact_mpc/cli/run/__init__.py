"""``contact-mpc run`` and ``goal``: the stack as processes over DDS. What the nodes do is in `ros`.

No node itself is here.
"""
