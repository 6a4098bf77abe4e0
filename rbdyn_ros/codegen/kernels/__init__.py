# SPDX-License-Identifier: Apache-2.0
"""Translate kernels of the library to C++, so that each rule is written only once.

`functions` translates kernels and the functions that they call, `statements` translates their
bodies, and `expressions` translates the expressions in the bodies. They support the part of Python
that the kernels of control/ use; everything else is refused, with its file and line.
"""
