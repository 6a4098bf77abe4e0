# SPDX-License-Identifier: Apache-2.0
"""Topics of one robot: its states, its commands, and the checks of messages."""
