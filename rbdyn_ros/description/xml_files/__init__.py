# SPDX-License-Identifier: Apache-2.0
"""What readers of XML share: elements of SDF, and notes on what nothing reads."""
