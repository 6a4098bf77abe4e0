# SPDX-License-Identifier: Apache-2.0
"""The message packages that ROS 2 on PyPI lacks, built once on the machine of the user.

`rbdyn_interfaces` is the project's own package. Every `.ini` file in this folder lists the fields
of another package and has its name:

- `[package]`: `depends` names the message packages that are used, separated by spaces.
- Every other section is one interface: `[msg/Name]`, `[srv/Name]` or `[action/Name]`, with its
  definition in `fields`. With the names and the order of the original, fields and constants have
  the type hash of the original, so nodes built with either package talk to each other.

Only interfaces that the nodes use are listed: one action of `control_msgs`, as in version 6.3.
(Its feedback in Humble and Jazzy lacks two fields; goals and results are the same.) The packages
are built for Python only. An installed ROS 2 has its own packages, so nothing is built there.
"""
