# SPDX-License-Identifier: Apache-2.0
"""The solution of a step with contacts."""
