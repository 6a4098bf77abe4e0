# SPDX-License-Identifier: Apache-2.0
"""Compile kernels, keep them on disk, and call them by address."""
