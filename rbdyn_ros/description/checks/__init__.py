# SPDX-License-Identifier: Apache-2.0
"""Checks of a Description, whichever reader or builder it comes from."""
