"""How long a test waits for another process: on no machine, however slow or busy, is this a matter of speed."""

HANG_S = 1200.0
