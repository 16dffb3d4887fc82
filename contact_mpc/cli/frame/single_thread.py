"""Importing this module before numpy keeps linear algebra on one thread in this process and those that it starts.

The matrices of the package are small, so more threads only cost time; and the order of summation, hence the last bit of
a result, would depend on their number. The nodes are started with the same variables.
"""

import os

from contact_mpc.settings.threads import SINGLE_THREADED

for _variable in SINGLE_THREADED:
    os.environ[_variable] = "1"
