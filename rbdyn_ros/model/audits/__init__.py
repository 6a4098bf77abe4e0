# SPDX-License-Identifier: Apache-2.0
"""Check arrays from files and users, so that kernels need no checks."""
