# SPDX-License-Identifier: Apache-2.0
"""Identified drive gains, and their uncertainty."""

from dataclasses import dataclass, replace

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.identification.actuators.estimate import LARGEST_STD
from rbdyn_ros.identification.data.motion import Motion


@dataclass(frozen=True, slots=True, eq=False)
class DriveGains:
    """Torque per current of the drives of an arm.

    Attributes:
        names: joints (n,).
        gains: (n,) effort per current [N m/A or N/A].
        covariance: (n, n) covariance of the logarithms of the gains.
        messages: a sentence for every gain that the recording does not determine.
        grave: the messages that forbid writing masses from these gains into a URDF.
        weighed: whether one of two recordings has a weighed load.
    """

    names: tuple[str, ...]
    gains: Array
    covariance: Array
    messages: tuple[str, ...] = ()
    grave: tuple[str, ...] = ()
    weighed: bool = False

    @property
    def std(self) -> Array:
        """Return the standard deviations of the gains, relative to them, (n,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def common_std(self) -> float:
        """Return the standard deviation of the common factor, from the best known gain."""
        return float(self.std.min())

    @property
    def ratio_std(self) -> Array:
        """Return the standard deviation (n,) of each gain's best known ratio to another gain."""
        C, n = self.covariance, len(self.gains)
        if n == 1:
            return self.std
        variances = np.diag(C)[:, None] + np.diag(C) - 2.0 * C + np.diag(np.full(n, np.inf))
        return np.asarray(np.sqrt(np.maximum(variances.min(axis=1), 0.0)))

    @property
    def why_no_patch(self) -> str:
        """Return the reason why masses from these gains must not go into a URDF, or ""."""
        return self.grave[0] if self.grave else ""

    def efforts(self, currents: Motion) -> Motion:
        """Return a motion whose efforts are the torques of its currents.

        Raises:
            ParameterError: the motion moves a joint without a gain.
        """
        gains = dict(zip(self.names, self.gains, strict=True))
        for name in currents.names:
            if name not in gains:
                text = (
                    f"joint {quote(name)} moves, but the motion from which the drive gains were "
                    f"identified does not move it; it moves {', '.join(map(quote, self.names))}"
                )
                raise ParameterError(Finding("no-gain", text, "error", name))
        factors = np.array([gains[name] for name in currents.names])
        return replace(currents, effort=currents.effort * factors)


def not_separable(found: DriveGains) -> list[str]:
    """Return a sentence for every gain that has no well-known ratio to another gain."""
    return [
        f"the gain of joint {quote(name)} is not separable from masses and friction: its standard "
        f"deviation is {std:.0%}, allowed is {LARGEST_STD:.0%}. Neither gravity nor the joints "
        "beside it load it enough; record a motion in which it carries more, or give the gains of "
        "all joints"
        for name, std in zip(found.names, found.ratio_std, strict=True)
        if std > LARGEST_STD
    ]


def without_factor(found: DriveGains) -> list[str]:
    """Return a sentence if only the masses of the description give the common factor of gains."""
    if not found.weighed:
        text = (
            f"the common factor of all gains comes from the described masses, +- "
            f"{found.common_std:.0%}: currents show only the ratios of gains. A second recording "
            "with a weighed load determines it"
        )
        return [text]
    rough = [
        quote(name)
        for name, std, ratio in zip(found.names, found.std, found.ratio_std, strict=True)
        if std > LARGEST_STD >= ratio
    ]
    text = (
        f"the weighed load does not determine the gains of {', '.join(rough)}: their common "
        "factor comes from the described masses, and their standard deviations are above "
        f"{LARGEST_STD:.0%}. Attach the load to a link that these joints lift"
    )
    return [text] if rough else []
