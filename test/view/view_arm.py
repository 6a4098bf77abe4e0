# SPDX-License-Identifier: Apache-2.0
"""The URDF of an arm that has a revolute and a prismatic joint with limits, and no visuals."""

ARM = """
<robot name="arm">
  <link name="base"><inertial><mass value="3"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0 0 0.3" rpy="0.3 0 0"/><mass value="2"/>
    <inertia ixx="0.03" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tool"><inertial><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0.1 0.2" rpy="0.4 -0.2 0.7"/><axis xyz="0.6 0 0.8"/>
    <limit lower="-0.5" upper="1.2" effort="9" velocity="1"/></joint>
  <joint name="slide" type="prismatic"><parent link="upper"/><child link="tool"/>
    <origin xyz="0 0 0.4" rpy="1 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-0.1" upper="0.3" effort="9" velocity="1"/></joint>
</robot>
"""
