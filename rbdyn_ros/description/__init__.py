"""Robot descriptions: data types, readers of URDF and mechanism files, builders, checks."""
