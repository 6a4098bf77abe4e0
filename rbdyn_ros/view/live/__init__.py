# SPDX-License-Identifier: Apache-2.0
"""The view of a simulation that runs in another process."""
