# SPDX-License-Identifier: Apache-2.0
"""Programs written as code: LLVM for numbers or vectors, C99, and CUDA C++."""
