# SPDX-License-Identifier: Apache-2.0
"""The services of the simulator, and the view: from a request to a change or an answer."""
