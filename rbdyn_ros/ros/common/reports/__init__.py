# SPDX-License-Identifier: Apache-2.0
"""What a node says: answers of services, lines of the log and /diagnostics."""
