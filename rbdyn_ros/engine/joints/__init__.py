# SPDX-License-Identifier: Apache-2.0
"""The joint library. Only this part of the engine depends on joint types."""
