# SPDX-License-Identifier: Apache-2.0
"""Learned policies of robots with legs: an ONNX network, its observation and its action."""
