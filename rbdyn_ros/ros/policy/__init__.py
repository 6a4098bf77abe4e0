# SPDX-License-Identifier: Apache-2.0
"""The node that runs a learned policy against a simulator or a robot."""
