# SPDX-License-Identifier: Apache-2.0
"""Programs: symbols, lists of operations, and passes that find similar limbs and cut blocks."""
