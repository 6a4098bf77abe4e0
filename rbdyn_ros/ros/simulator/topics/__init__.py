# SPDX-License-Identifier: Apache-2.0
"""Topics of one robot: its states, its sensors and its commands, which are checked."""
