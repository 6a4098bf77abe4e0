# SPDX-License-Identifier: Apache-2.0
"""Parts that commands share: arguments, exit statuses, Ctrl-C, pages, recordings as input."""
