# SPDX-License-Identifier: Apache-2.0
"""The scene of a robot and its placement at an instant, without a browser."""
