# SPDX-License-Identifier: Apache-2.0
"""How kernels are compiled, kept on disk, and called by address."""
