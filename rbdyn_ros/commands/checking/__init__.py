# SPDX-License-Identifier: Apache-2.0
"""Parts of `rbdyn check`: folders, repairs, appearance and self-collision."""
