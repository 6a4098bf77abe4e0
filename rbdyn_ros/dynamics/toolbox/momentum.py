# SPDX-License-Identifier: Apache-2.0
"""Centre of mass and momentum of a whole robot, or of the subtree of a body."""

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.toolbox.filling import fills
from rbdyn_ros.engine.quantities import momentum as _momentum
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model


@fills(_momentum.com, lambda _: 3).of_body
def com(m: Model, d: Data, body: str | int = 0) -> Array:
    """Return the centre of mass of a body's subtree in the world, (3,) [m], at qpos.

    Links that are fixed to the world do not count: they are not bodies, and a Model does not keep
    their masses. With a floating base all links count.

    Args:
        m: the Model.
        d: its Data.
        body: name or number of a body; body 0, the world, stands for all moving bodies.

    Raises:
        ModelError: the body is unknown, or d was not made for m.

    Source: MuJoCo mj_comPos, subtree_com.
    """


@fills(_momentum.com_velocity, lambda _: 3).of_body
def com_velocity(m: Model, d: Data, body: str | int = 0) -> Array:
    """Return the velocity of com, (3,) [m/s], at qpos and qvel. Arguments and errors: see com.

    This velocity times m.body_subtreemass[body] is the momentum of the subtree.
    """


@fills(_momentum.com_jacobian, lambda m: (3, m.nv)).of_body
def com_jacobian(m: Model, d: Data, body: str | int = 0) -> Array:
    """Return J (3, nv) at qpos, with com_velocity = J qvel. Arguments and errors: see com.

    Source: MuJoCo mj_jacSubtreeCom.
    """


@fills(_momentum.centroidal_momentum_matrix, lambda m: (6, m.nv))
def centroidal_momentum_matrix(m: Model, d: Data) -> Array:
    """Return A(qpos), (6, nv), with rows [angular; linear]: centroidal_momentum is A qvel.

    Raises:
        ModelError: d was not made for m.

    Source: Orin, Goswami, Lee, Centroidal dynamics of a humanoid robot, 2013.
    """


@fills(_momentum.centroidal_momentum, lambda _: 6)
def centroidal_momentum(m: Model, d: Data) -> Array:
    """Return the momentum about the centre of mass of all bodies, world axes (6,) [N m s; N s].

    Errors: see centroidal_momentum_matrix.
    """


@fills(_momentum.centroidal_momentum_bias, lambda _: 6)
def centroidal_momentum_bias(m: Model, d: Data) -> Array:
    """Return dA/dt qvel, (6,) [N m; N]: the derivative of the momentum at qacc = 0.

    Errors: see centroidal_momentum_matrix.
    """
