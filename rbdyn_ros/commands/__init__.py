# SPDX-License-Identifier: Apache-2.0
"""The commands of `rbdyn`, one in each file."""
