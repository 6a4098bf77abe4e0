# SPDX-License-Identifier: Apache-2.0
"""The law of a contact: its constants, its force at a velocity, and the sums over bodies."""
