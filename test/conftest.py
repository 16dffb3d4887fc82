"""What every test starts from: no DDS traffic leaves the machine, one BLAS thread, repeatable property tests."""

import os

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

from hypothesis import settings  # noqa: E402  (numpy must find the thread counts set)

# No deadline: the first example compiles. Derandomised: a failure in CI is the same failure here.
settings.register_profile("contact_mpc", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("contact_mpc")
