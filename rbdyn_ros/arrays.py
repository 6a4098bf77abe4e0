# SPDX-License-Identifier: Apache-2.0
"""Types of arrays for type annotations."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Types of arrays by name: a dict, which can be written, and a mapping, which is only read.
Arrays = dict[str, NDArray[Any]]
NamedArrays = Mapping[str, NDArray[Any]]
