# SPDX-License-Identifier: Apache-2.0
"""An arm whose states cannot be believed: how that is noticed, and how it is stopped."""
