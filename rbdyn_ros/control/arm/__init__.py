# SPDX-License-Identifier: Apache-2.0
"""The arm to be controlled, its settings, and its laws as specialised machine code."""
