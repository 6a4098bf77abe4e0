# SPDX-License-Identifier: Apache-2.0
"""The joint library. No other part of the engine depends on joint types."""
