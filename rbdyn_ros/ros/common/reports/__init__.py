# SPDX-License-Identifier: Apache-2.0
"""Reports of a node: responses of services, lines in the log and /diagnostics."""
