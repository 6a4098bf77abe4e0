# SPDX-License-Identifier: Apache-2.0
"""Code that all nodes share: life cycle, parameters, messages and reports."""
