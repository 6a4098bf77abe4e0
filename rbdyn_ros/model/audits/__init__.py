# SPDX-License-Identifier: Apache-2.0
"""Audits of arrays that come from outside, so that kernels may trust them."""
