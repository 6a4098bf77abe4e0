# SPDX-License-Identifier: Apache-2.0
"""Types of arrays, for annotations."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Arrays by name: a dict for writing, and a mapping for reading.
Arrays = dict[str, NDArray[Any]]
NamedArrays = Mapping[str, NDArray[Any]]
