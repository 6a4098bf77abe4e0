# SPDX-License-Identifier: Apache-2.0
"""Reports and records of a trial."""
