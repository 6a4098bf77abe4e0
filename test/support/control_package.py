# SPDX-License-Identifier: Apache-2.0
"""Generated packages of ros2_control, whose controllers Python objects call without ROS."""

import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.codegen.ros2_control.package import ControlPackage, dynamics, write
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.faults import FAULTS
from rbdyn_ros.control.base.limits import LATENCY
from support.c_compilers import run

CODES = ["", *dict.fromkeys(kind.code for kind in FAULTS)]
MODES = ("gravity", "pd_gravity", "computed_torque", "impedance")
PHASES = ("running", "braking", "holding", "blind", "silent", "testing", "disarmed")
EFFORTS, KEEP, SILENT = range(3)
STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror")
#: Options of the compiler; -O1 compiles faster than the optimisation that ROS uses.
BUILD = ("-std=c++17", "-O1", "-fPIC", "-shared")
SHIM = Path(__file__).with_name("arm_for_python.cpp")

needs_gxx = pytest.mark.skipif(
    None in (shutil.which("g++"), shutil.which("gcc")), reason="there is no g++"
)


def package_of(m, name="my_arm", prefix="arm"):
    return ControlPackage(name, dynamics(m, prefix))


class ArmCode:
    """The C++ code of a generated package without ROS, compiled without a warning."""

    def __init__(self, package, folder):
        write(package, folder)
        source, code, library = folder / "src", folder / "code.o", folder / "library.so"
        run(
            "gcc", "-std=c99", "-O1", "-fPIC", "-c", source / package.code.files.source, "-o", code
        )
        namespace = f"-DARM_NAMESPACE=rbdyn_{package.name}"
        run("g++", *BUILD, *STRICT, namespace, "-I", source, SHIM, code, "-o", library)
        self.package = package
        self.library = ctypes.CDLL(str(library))
        for maker in ("gate_new", "arm_new", "ending_new"):
            getattr(self.library, maker).restype = ctypes.c_void_p

    def call(self, name, *values):
        """Call a C function with arrays as pointers and floats as double; return its result."""
        return getattr(self.library, name)(*map(_argument, values))


def _argument(value):
    if value is None or isinstance(value, ctypes.c_void_p):
        return value
    if isinstance(value, np.ndarray):
        assert value.dtype == np.float64
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int(value)


class CppGate:
    """The safety gate of a generated package, with given limits."""

    def __init__(self, code, limits, blend_time=0.5):
        rows = np.array(
            [getattr(limits, row) for row in ("lower", "upper", "velocity", "effort", "power")]
            + [limits.gain]
        )
        self.code = code
        given = float(limits.acceleration), float(blend_time), rows
        self.own = ctypes.c_void_p(code.call("gate_new", *given))

    def __del__(self):
        self.code.call("gate_delete", self.own)

    def judge(self, qpos, qvel, time):
        """Judge a state; return the fault's code, whether states are false, its joint, the drop.

        The last value says whether the state is dropped. `time` [ns] is the time of the
        measurement and of the arrival.
        """
        out = np.zeros(5)
        dropped = self.code.call("gate_judge", self.own, qpos, qvel, float(time), out)
        return CODES[int(out[0])], bool(out[1]), int(out[2]), bool(dropped)

    def begin(self, effort):
        self.code.call("gate_begin", self.own, effort)

    def release(self, wanted, holding, qpos, dt, last):
        """Return the efforts (nv,), and the first joint with a NaN effort, or -1 without one."""
        out = np.zeros(len(self.code.package.limits.names))
        arguments = self.own, wanted, holding, qpos, float(dt), int(last), out
        return out, self.code.call("gate_release", *arguments)


class CppEnding:
    """The part of a generated package that brakes, holds or is silent after a fault."""

    def __init__(self, code, settings):
        gains = np.repeat([settings.stiffness, settings.damping], code.package.code.m.nv)
        self.code, self.own = code, ctypes.c_void_p(code.call("ending_new", gains))

    def __del__(self):
        self.code.call("ending_delete", self.own)

    def see(self, qpos, qvel, dt):
        """Return the efforts (nv,) and the phase, or None if no effort is commanded."""
        out = np.zeros(len(qpos))
        phase = self.code.call("ending_see", self.own, qpos, qvel, float(dt), out)
        return None if phase < 0 else (out, PHASES[phase])


class CppArm:
    """Runs the control loop of a generated C++ package from Python.

    Args:
        code: the compiled package.
        settings: the ControlSettings.
        gate: the GateSettings.
        compensates: whether the robot compensates gravity itself.
        friction: share of the friction in the robot's description.
        period: period of the updates [s], for the check of gains.
        contact: largest effort of a contact as a share of the effort limits.
    """

    def __init__(
        self, code, settings, gate, compensates=False, friction=0.0, period=0.001, contact=0.0
    ):
        n = code.package.code.m.nv
        gains = [
            np.broadcast_to(getattr(settings, name), n)
            for name in ("stiffness", "damping", "impedance_stiffness", "impedance_damping")
        ]
        rows = [gate.state_timeout, gate.effort_rate, gate.blend_time, settings.blind_time]
        rows += [settings.gravity_damping, settings.tracking_tolerance, settings.target_timeout]
        rows += [compensates, friction, LATENCY, gate.simulated, period, contact]
        rows += [float(settings.arm_tolerance)]
        rows += [settings.start_up_test, settings.start_up_tolerance]
        given = np.concatenate([rows, *gains]).astype(float)
        self.code, self.own = code, ctypes.c_void_p(code.call("arm_new", given))
        self.effort = np.zeros(len(code.package.limits.names))
        self.unknown, self.steady = np.full_like(self.effort, np.nan), 10.0

    def __del__(self):
        self.code.call("arm_delete", self.own)

    def start(self, qpos, qvel, effort, mode):
        """Start the arm; return the refusal's number or 0. `self.sentence` has its text."""
        out = ctypes.create_string_buffer(1000)
        at = ctypes.cast(out, ctypes.c_void_p)
        number = self.code.call("arm_start", self.own, qpos, qvel, effort, MODES.index(mode), at)
        self.sentence = out.value.decode()
        return number

    def update(self, qpos, qvel, period, reference=None, readable=True, effort=None, waited=None):
        """Update the arm; return EFFORTS, KEEP or SILENT. `self.effort` has the commanded efforts.

        The argument `effort` has the measured efforts (None: unknown). `waited` [s] is the steady
        time since the last call (None: the period).
        """
        self.steady += period if waited is None else waited
        felt = self.unknown if effort is None else effort
        given = qpos, qvel, felt, int(readable), reference, float(period), self.steady, self.effort
        return self.code.call("arm_update", self.own, *given)

    def set_mode(self, mode):
        """Request a mode; return the mode that the arm has as its request afterwards."""
        return MODES[self.code.call("arm_set_mode", self.own, MODES.index(mode))]

    def stop(self):
        self.code.call("arm_stop", self.own)

    @property
    def fault(self):
        """Return the code of the latched fault, and whether states are not trusted since then."""
        out = np.zeros(6)
        self.code.call("arm_fault", self.own, out)
        return CODES[int(out[0])], bool(out[1])

    @property
    def phase(self):
        return PHASES[self.code.call("arm_fault", self.own, np.zeros(6))]

    def kick(self, qpos, qvel):
        """Move the arm to these positions and velocities, and record no effort for this change."""
        self.code.call("arm_kick", self.own, qpos, qvel)

    def event(self):
        """Return the newest refusal's number; the attribute `sentence` has its text."""
        out = ctypes.create_string_buffer(1000)
        number = self.code.library.arm_event(self.own, out)
        self.sentence = out.value.decode()
        return number

    def clear(self):
        self.code.call("arm_clear", self.own)


def settings_of(**changes):
    usual = {"dry_run": False, "blind_time": 0.2, "start_up_test": False}
    return ControlSettings(**usual | changes)
