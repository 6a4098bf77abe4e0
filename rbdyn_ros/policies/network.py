# SPDX-License-Identifier: Apache-2.0
"""The network of a policy: an ONNX file, run by onnxruntime."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.errors import DescriptionError, Finding, RbdynError, counted, quote


def metadata_of(path: Path) -> Mapping[str, str]:
    """Return the metadata of an ONNX file.

    Raises:
        DescriptionError: the file is not an ONNX file.
        RbdynError: onnxruntime is not installed.
    """
    return dict(_session(path).get_modelmeta().custom_metadata_map)


class Network:
    """A network that maps a vector to a vector; it may have memory.

    Inputs other than the first are memory: the input h_in gets the output h_out of the previous
    call, and zeros in the first call.

    Args:
        path: path of the ONNX file.
        inputs: number of values in an observation.
        outputs: number of values in an action.
        listed: the parts of the observation, as text for messages.

    Raises:
        DescriptionError: the file is not an ONNX file, or its inputs or outputs do not fit.
        RbdynError: onnxruntime is not installed.
    """

    def __init__(self, path: Path, inputs: int, outputs: int, listed: str) -> None:
        self._session, self._size = _session(path), outputs
        if not (self._session.get_inputs() and self._session.get_outputs()):
            raise _refused(path, "no-inputs", "the network has no input or no output")
        first, *memory = self._session.get_inputs()
        action, *remembered = self._session.get_outputs()
        self._check(path, first, inputs, f"the observation has {inputs}: {listed}", "takes")
        self._check(path, action, outputs, f"the list has {counted(outputs, 'joint')}", "returns")
        ends = {each.name: each for each in remembered}
        self._memory = {each.name: each.name.removesuffix("_in") + "_out" for each in memory}
        if unknown := [name for name, end in self._memory.items() if end not in ends]:
            text = f"the network has the input {quote(unknown[0])}, but no output that feeds it"
            raise _refused(path, "unknown-input", text)
        self._shapes = {each.name: [_size(x) for x in each.shape] for each in memory}
        self._first, self._outputs = first.name, [action.name, *self._memory.values()]
        self.reset()
        try:
            self(np.zeros(inputs))
        except RbdynError:
            pass  # the network runs, but its numbers for zeros are not finite
        except Exception as error:  # onnxruntime raises its own classes of errors
            text = (
                f"the network does not run on {counted(inputs, 'number')}: "
                f"{str(error).splitlines()[0]}"
            )
            raise _refused(path, "network-run", text) from error
        self.reset()

    @staticmethod
    def _check(path: Path, end: Any, size: int, reason: str, verb: str) -> None:
        found = end.shape[-1] if end.shape else 0
        if isinstance(found, int) and found != size:
            text = (
                f"the network {verb} {counted(found, 'number')} in {quote(end.name)}, but {reason}"
            )
            raise _refused(path, "network-size", text)

    def reset(self) -> None:
        """Clear the memory of the network."""
        shapes = self._shapes.items()
        self._state = {name: np.zeros(shape, np.float32) for name, shape in shapes}

    def __call__(self, observation: Array) -> Array:
        """Return the action (outputs,) for an observation (inputs,), and update the memory.

        Raises:
            RbdynError: the action or the new memory is not finite.
        """
        given = {self._first: observation.astype(np.float32)[None, :]} | self._state
        action, *state = self._session.run(self._outputs, given)
        found = np.asarray(action, float).ravel()
        if len(found) != self._size:
            raise ValueError(
                f"it returns {counted(len(found), 'number')} for {counted(self._size, 'joint')}"
            )
        if not all(np.isfinite(each).all() for each in (found, *state)):
            text = "the network returns numbers that are not finite"
            raise RbdynError(Finding("not-finite", text))
        self._state = dict(zip(self._memory, state, strict=True))
        return found


def _refused(path: Path, code: str, text: str) -> DescriptionError:
    return DescriptionError(Finding(code, text), str(path))


def _size(dimension: Any) -> int:
    """Return the size of an input's dimension; 1 if the size is open, as of a batch."""
    return dimension if isinstance(dimension, int) else 1


def _session(path: Path) -> Any:
    # this raises an error if the file cannot be read
    read_bytes(path, "an .onnx file", "the path of an .onnx file")
    try:
        import onnxruntime
    except ImportError as error:
        text = "policies need onnxruntime: pip install 'rbdyn_ros[policy]'"
        raise RbdynError(Finding("missing-package", text, found="onnxruntime")) from error
    options = onnxruntime.SessionOptions()
    # one thread: a small network is slower with several, and they would take cores from the loop
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the classes of errors differ between releases
        text = f"{quote(path.name)} cannot be read as ONNX: {str(error).splitlines()[0]}"
        raise _refused(path, "bad-network", text) from error
