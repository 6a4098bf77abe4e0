# SPDX-License-Identifier: Apache-2.0
"""Contact points: find and list them, recall their forces, and prepare the law for a step."""
