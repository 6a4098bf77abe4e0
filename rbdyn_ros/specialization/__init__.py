# SPDX-License-Identifier: Apache-2.0
"""The code generator: trace the kernels of a Model, and write straight-line code for LLVM or C."""
