# SPDX-License-Identifier: Apache-2.0
"""The contact points of a step: find them, list them, recall their forces, prepare their law."""
