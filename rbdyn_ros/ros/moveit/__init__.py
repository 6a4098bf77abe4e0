# SPDX-License-Identifier: Apache-2.0
"""A configuration package of MoveIt 2 for one robot."""
