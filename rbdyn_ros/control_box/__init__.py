# SPDX-License-Identifier: Apache-2.0
"""Control boxes of real arms, simulated: unmodified clients of a vendor connect to them.

- wire, sockets: packets between a client and a box, with seeded faults
- franka: the box of Franka's arms, from packets up to the servers
- box: the thread that connects a box with a loop
"""
