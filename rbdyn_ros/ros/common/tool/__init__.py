# SPDX-License-Identifier: Apache-2.0
"""Topics about an arm's tool: twists, the interactive marker and external wrenches."""
