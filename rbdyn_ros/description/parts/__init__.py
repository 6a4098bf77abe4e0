"""What a robot or a scene consists of: links, joints, shapes, poses, and the ranges of numbers."""
