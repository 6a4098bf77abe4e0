# SPDX-License-Identifier: Apache-2.0
"""nvcc compiles the GPU code; test_cuda_batch.py tests its bits."""

import functools
import re

import numpy as np
import pytest
from support.cuda import compiled_by_nvcc, load, needs_nvcc
from support.robots import needs_robots

import rbdyn_ros as rb
from rbdyn_ros.rollouts.cuda import kernels_of
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.specialization.languages import cuda_code
from rbdyn_ros.specialization.languages.c_language import DOUBLE, FLOAT
from rbdyn_ros.specialization.languages.cuda_code import source


@functools.cache
def arm():
    return rb.load_urdf(bundled_robot("seven_dof_arm"))


@needs_nvcc
@pytest.mark.parametrize("real", [DOUBLE, FLOAT], ids=lambda real: real.name)
@pytest.mark.parametrize("processor", ["sm_80", "sm_90"])
def test_nvcc_compiles_the_kernels_and_reports_registers(
    processor, real, tmp_path, record_property
):
    kernels = kernels_of(arm(), {}, ("qfrc_applied", "xpos"), real.info.dtype)
    report = compiled_by_nvcc(source(kernels, real), tmp_path, processor)
    for kernel in kernels:
        text = report[report.index(f"Function properties for {kernel.name}") :]
        for what in ("spill stores", "spill loads", "stack frame"):
            found = re.search(rf"(\d+) bytes {what}", text)
            record_property(f"{processor} {real.name} {kernel.name} {what}", int(found[1]))
        registers = int(re.search(r"Used (\d+) registers", text)[1])
        record_property(f"{processor} {real.name} {kernel.name} registers", registers)
        assert registers > 0


@pytest.mark.nightly  # nvcc takes a long time before it fails
@needs_nvcc
@needs_robots
def test_a_function_too_long_for_nvcc_is_cut_into_blocks(tmp_path):
    found = []
    for longest in (cuda_code.LONGEST_FUNCTION, cuda_code.BLOCK):
        kernels = kernels_of(load("Go2"), {}, ("qfrc_applied",), np.dtype(np.float64), longest)
        report = compiled_by_nvcc(source(kernels, DOUBLE), tmp_path, "sm_80")
        text = report[report.index("Function properties for advance") :]
        memory = re.search(r"(\d+) bytes stack frame", text)
        registers = re.search(r"Used (\d+) registers", text)
        found.append(cuda_code.gave_up(int(registers[1]), int(memory[1])))
    assert not found[-1]  # nvcc may also succeed with long functions
