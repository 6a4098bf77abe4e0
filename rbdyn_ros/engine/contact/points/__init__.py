# SPDX-License-Identifier: Apache-2.0
"""The points of contact: where bodies touch in a step, listed, remembered and started."""
