# SPDX-License-Identifier: Apache-2.0
"""What a robot or a scene consists of: links, joints, shapes, poses, and the ranges of numbers."""
