# SPDX-License-Identifier: Apache-2.0
"""`python -m rbdyn_ros.ros.messages` builds the message packages, even if they exist already."""

import sys

from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.messages.build import build, no_other_build

if __name__ == "__main__":
    try:
        with no_other_build() as lock:
            build(lock)
    except (RbdynError, OSError) as error:
        sys.exit(f"rbdyn: {error}")
