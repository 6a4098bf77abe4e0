# SPDX-License-Identifier: Apache-2.0
"""Control laws: from a state and a target to efforts."""
