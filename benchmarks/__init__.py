# SPDX-License-Identifier: Apache-2.0
"""Measurements against the peers; run `python -m benchmarks --help`."""
