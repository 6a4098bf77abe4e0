# SPDX-License-Identifier: Apache-2.0
"""The parts of a robot or a scene: links, joints, shapes, poses, and the ranges of numbers."""
