"""What the bridge node is made of besides its core: input, sources of messages, timing, warm-up, safety report.

No limits and no law of control: they are in `control/bridge`.
"""
