# SPDX-License-Identifier: Apache-2.0
"""What one robot publishes and what commands it receives: topics, and the checks of messages."""
