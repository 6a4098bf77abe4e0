# SPDX-License-Identifier: Apache-2.0
"""C++ from the kernels of the library, so that a rule is written once.

`functions` translates kernels and the functions that they call, `statements` their bodies, and
`expressions` the expressions in these. They support the part of Python that the kernels of
control/ use; everything else is refused, with its file and line.
"""
