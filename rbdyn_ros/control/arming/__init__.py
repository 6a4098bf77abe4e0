# SPDX-License-Identifier: Apache-2.0
"""What an arm must show before it is armed."""
