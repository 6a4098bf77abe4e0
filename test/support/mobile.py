# SPDX-License-Identifier: Apache-2.0
"""Build URDFs of robots on wheels: cars, and bases whose wheels have rollers."""

import math

BODY = """<robot name="{name}"><link name="base_link"><inertial><origin xyz="{x} 0 {height}"/>
  <mass value="{mass}"/><inertia ixx="0.2" iyy="0.4" izz="0.5" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>"""
WHEEL = """
  <link name="{name}"><inertial><mass value="0.5"/>
    <inertia ixx="0.002" iyy="0.003" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial>{shape}</link>
  <joint name="{name}_joint" type="continuous"><parent link="{parent}"/><child link="{name}"/>
    <origin xyz="{x} {y} {z}" rpy="0 0 {yaw}"/><axis xyz="0 1 0"/>
    <limit effort="20" velocity="30"/></joint>"""
TYRE = """<collision><origin rpy="1.5707963267948966 0 0"/>
    <geometry><cylinder radius="{radius}" length="{width}"/></geometry></collision>"""
STEERING = """
  <link name="{name}"><inertial><mass value="0.3"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="{name}_joint" type="revolute"><parent link="base_link"/><child link="{name}"/>
    <origin xyz="{x} {y} {z}"/><axis xyz="0 0 {axis}"/>
    <limit effort="30" velocity="3" lower="-0.7" upper="0.7"/></joint>"""
ROLLER = """
  <link name="{name}"><inertial><mass value="0.01"/>
    <inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="{radius}"/></geometry></collision></link>
  <joint name="{name}_joint" type="continuous"><parent link="{parent}"/><child link="{name}"/>
    <origin xyz="{x} 0 {z}" rpy="0 {pitch} 0"/><axis xyz="{gx} {gy} 0"/>
    <limit effort="0" velocity="1000"/></joint>"""

RADIUS, TRACK, WHEELBASE = 0.1, 0.4, 0.5


def tyre(name, x, y, parent="base_link", z=RADIUS, width=0.01, yaw=0.0):
    shape = TYRE.format(radius=RADIUS, width=width)
    return WHEEL.format(name=name, shape=shape, parent=parent, x=x, y=y, z=z, yaw=yaw)


def car(axis=1):
    """Return a car with driven rear wheels at x = 0 and steered front wheels without a drive."""
    text = BODY.format(name="car", x=0.25, height=0.1, mass=8.0)
    for side, y in (("left", TRACK / 2), ("right", -TRACK / 2)):
        text += tyre(f"rear_{side}_wheel", 0.0, y)
        name = f"{side}_steering"
        text += STEERING.format(name=name, x=WHEELBASE, y=y, z=RADIUS, axis=axis)
        text += tyre(f"front_{side}_wheel", 0.0, 0.0, parent=name, z=0.0)
    return text + "</robot>"


def rollers(name, radius, count, angle):
    """Return the rollers of a wheel; `angle` is the yaw of the lowest roller's axis [rad]."""
    text, small = "", 0.02
    for k in range(count):
        turn = 2.0 * math.pi * k / count
        text += ROLLER.format(
            name=f"{name}_roller{k}",
            parent=name,
            radius=small,
            x=-(radius - small) * math.sin(turn),
            z=-(radius - small) * math.cos(turn),
            pitch=turn,
            gx=math.cos(angle),
            gy=math.sin(angle),
        )
    return text


def mecanum(count=12):
    """Return a base with four mecanum wheels; the upper rollers form an X, the lower ones an O."""
    text = BODY.format(name="mecanum", x=0.0, height=0.1, mass=8.0)
    for front in (1, -1):
        for side in (1, -1):
            name = f"wheel{front:+d}{side:+d}"
            at = {"x": front * WHEELBASE / 2, "y": side * TRACK / 2}
            text += WHEEL.format(name=name, shape="", parent="base_link", z=RADIUS, yaw=0, **at)
            text += rollers(name, RADIUS, count, -front * side * math.pi / 4)
    return text + "</robot>"


def omni(count=12):
    """Return a base with three omni wheels on a circle of 0.2 m."""
    text = BODY.format(name="omni", x=0.0, height=0.1, mass=6.0)
    for k in range(3):
        at = math.pi / 6 + 2.0 * math.pi * k / 3
        name = f"wheel{k}"
        text += WHEEL.format(
            name=name,
            shape="",
            parent="base_link",
            x=0.2 * math.cos(at),
            y=0.2 * math.sin(at),
            z=RADIUS,
            yaw=at + math.pi / 2,
        )
        text += rollers(name, RADIUS, count, 0.0)
    return text + "</robot>"
