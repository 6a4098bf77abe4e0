# SPDX-License-Identifier: Apache-2.0
"""Control boxes of real arms, simulated: unmodified clients of a vendor connect to them.

- wire, sockets: packets between a client and a box, with seeded faults
- links, arm, paths, laws, sensing: the arm that a box moves and measures
- box: the thread that connects a box with a loop
- franka, ur: the boxes of two vendors, from their packets up to their servers
- boxes: running boxes, made from their names
"""
