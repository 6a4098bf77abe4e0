# SPDX-License-Identifier: Apache-2.0
"""The command line itself: arguments, exit statuses, Ctrl-C, pages, recordings as input."""
