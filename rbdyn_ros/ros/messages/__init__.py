# SPDX-License-Identifier: Apache-2.0
"""The message packages that ROS 2 on PyPI lacks, built once on the user's machine.

`rbdyn_interfaces` is the project's own package. Every `.ini` file in this folder lists the fields
of one other package and is named after it:

- `[package]`: `depends` names the message packages that this package uses, separated by spaces.
- Every other section defines one interface, `[msg/Name]`, `[srv/Name]` or `[action/Name]`, in
  `fields`. The fields and constants have the names and the order of the original package. So the
  type hashes are equal, and nodes built with either package can communicate.

Only interfaces that the nodes use are listed: one action of `control_msgs`, as in version 6.3.
(Its feedback in Humble and Jazzy lacks two fields; goals and results are the same.) The packages
are built for Python only. An installed ROS 2 has its own packages, so nothing is built there.
"""
