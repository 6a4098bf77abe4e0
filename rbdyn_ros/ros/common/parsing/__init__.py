# SPDX-License-Identifier: Apache-2.0
"""Convert messages to numbers and back; a message is accepted or refused as a whole."""
