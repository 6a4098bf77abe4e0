# SPDX-License-Identifier: Apache-2.0
"""Reports of a node: answers of services, lines of the log and /diagnostics."""
