# SPDX-License-Identifier: Apache-2.0
"""Views in a web browser, served by viser."""
