# SPDX-License-Identifier: Apache-2.0
"""The low-level interface of Unitree's robots: motors, and the messages LowCmd and LowState."""
