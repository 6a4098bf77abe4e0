# SPDX-License-Identifier: Apache-2.0
"""Write programs as code: LLVM for numbers or vectors, C99, and CUDA C++."""
