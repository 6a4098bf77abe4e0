# SPDX-License-Identifier: Apache-2.0
"""Detection of states that cannot be believed, and the stop of an arm without valid states."""
