"""Types of arrays that the whole package shares."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
