# SPDX-License-Identifier: Apache-2.0
"""What a Model and a Data hold: each array, joint type and option is declared here once."""
