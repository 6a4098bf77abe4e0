# SPDX-License-Identifier: Apache-2.0
"""The arrays, joint types and options of a Model and a Data, each declared once."""
