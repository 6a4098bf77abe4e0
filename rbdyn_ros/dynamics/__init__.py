"""The public functions of (m, d): stages, configurations, joints, loads, and the toolbox."""
