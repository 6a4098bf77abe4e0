# SPDX-License-Identifier: Apache-2.0
"""Wheeled robots with published dimensions: TurtleBot 3, TurtleBot 4, a skid-steered robot."""

from dataclasses import dataclass

import numpy as np

import rbdyn_ros as rb

WHEEL = """
  <link name="{name}"><inertial><mass value="{mass}"/>
    <inertia ixx="{across}" iyy="{spin}" izz="{across}" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin rpy="1.5707963267948966 0 0"/>
      <geometry><{shape}/></geometry></collision></link>
  <joint name="{name}_joint" type="continuous"><parent link="base"/><child link="{name}"/>
    <origin xyz="{x} {y} {radius}"/><axis xyz="0 1 0"/>
    <limit effort="{effort}" velocity="{velocity}"/></joint>"""


@dataclass(frozen=True)
class Rover:
    """A robot on wheels. Lengths are in m, masses in kg, efforts in N m, speeds in rad/s."""

    name: str
    mass: float
    size: tuple[float, float, float]
    height: float  # height of the centre of mass of the base
    radius: float
    track: float
    wheel_mass: float
    effort: float
    velocity: float
    axles: tuple[float, ...] = (0.0,)
    casters: tuple[float, ...] = ()
    caster: float = 0.01
    width: float = 0.02
    friction: float = 1.0
    centre: float = 0.0  # x of the base's centre of mass from the wheels

    @property
    def urdf(self):
        """Return the text of the robot's URDF."""
        x, y, z = self.size
        box = [self.mass / 12 * (a * a + b * b) for a, b in ((y, z), (x, z), (x, y))]
        text = f"""<robot name="{self.name}">
  <link name="base"><inertial>
    <origin xyz="{self.centre} 0 {self.height}"/><mass value="{self.mass}"/>
    <inertia ixx="{box[0]}" iyy="{box[1]}" izz="{box[2]}" ixy="0" ixz="0" iyz="0"/></inertial>"""
        for at in self.casters:
            text += f"""
    <collision name="caster{at:+g}"><origin xyz="{at} 0 {self.caster}"/>
      <geometry><sphere radius="{self.caster}"/></geometry></collision>"""
        text += "</link>"
        spin = self.wheel_mass * self.radius**2 / 2
        for n, axle in enumerate(self.axles):
            for side, y in (("left", self.track / 2), ("right", -self.track / 2)):
                text += WHEEL.format(
                    name=f"{side}{n}",
                    mass=self.wheel_mass,
                    spin=spin,
                    across=spin / 2 + self.wheel_mass * self.width**2 / 12,
                    shape=f'cylinder radius="{self.radius}" length="{self.width}"',
                    x=axle,
                    y=y,
                    radius=self.radius,
                    effort=self.effort,
                    velocity=self.velocity,
                )
        return text + "</robot>"

    def model(self):
        """Return the Model of the rover on a floor; the first six dofs belong to the base."""
        smooth = {f"caster{at:+g}": rb.Surface(friction=0.05) for at in self.casters}
        contact = rb.Contact(surface=rb.Surface(friction=self.friction), surfaces=smooth)
        return rb.load_urdf(self.urdf, floating_base=True, contact=contact)

    @property
    def left(self):
        """Return whether each wheel is on the left, in the order of the joints."""
        return np.tile([True, False], len(self.axles))


#: Burger: two wheels with Dynamixel XL430 drives, and a caster behind the wheels.
TURTLEBOT3 = Rover(
    "turtlebot3",
    0.94,
    (0.13, 0.13, 0.14),
    0.07,
    0.033,
    0.160,
    0.0285,
    1.4,
    6.4,
    casters=(-0.081,),
    caster=0.005,
    width=0.018,
    centre=-0.032,
)
#: Create 3 with the plate of the standard model; the caster is in front.
TURTLEBOT4 = Rover(
    "turtlebot4",
    3.6,
    (0.30, 0.30, 0.10),
    0.07,
    0.03575,
    0.233,
    0.12,
    1.6,
    13.0,
    casters=(0.125, -0.125),
)
#: A skid-steered robot of the size of a Husky A200, with four driven wheels that cannot steer.
SKID_STEER = Rover(
    "skid_steer",
    46.0,
    (0.9, 0.4, 0.25),
    0.24,
    0.165,
    0.571,
    2.6,
    40.0,
    8.0,
    axles=(0.256, -0.256),
    width=0.114,
    friction=0.6,
)
EACH = (TURTLEBOT3, TURTLEBOT4, SKID_STEER)
