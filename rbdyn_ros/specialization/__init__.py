"""The code generator: a Model's own kernels, traced into straight-line code for LLVM or C."""
