# SPDX-License-Identifier: Apache-2.0
"""Translate kernels of the library to C++, so that each rule is written only once.

functions.py translates kernels and the functions that they call, statements.py the bodies, and
expressions.py the expressions in the bodies. They support the part of Python that the kernels of
control/ use. For all other Python they raise an error with file and line.
"""
