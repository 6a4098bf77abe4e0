# SPDX-License-Identifier: Apache-2.0
"""Registers and signals that clients, programs and the arm share."""

from __future__ import annotations

import numpy as np

#: General purpose registers of each kind.
NUMBER = 48


class Signals:
    """Inputs and outputs of the controller.

    Attributes:
        in_int, in_double: (48,) registers that clients write.
        out_int, out_double: (48,) registers that programs write.
        in_bits, out_bits: 128 bits each.
        digital_in, digital_out: bits 0 to 7 standard, 8 to 15 configurable, 16 and 17 of the tool.
        analog_in, analog_out: (2,) [V or A].
        analog_types: bits of analog outputs: 1 for voltage.
        slider: of the speed, 0 to 1.
        tool_voltage: 0, 12 or 24 [V].
        wrench: external_force_torque of a client (6,).
        written: how often a client wrote each in_int.
    """

    def __init__(self) -> None:
        self.in_int, self.out_int = np.zeros(NUMBER, np.int32), np.zeros(NUMBER, np.int32)
        self.in_double, self.out_double = np.zeros(NUMBER), np.zeros(NUMBER)
        self.in_bits = self.out_bits = 0
        self.digital_in = self.digital_out = 0
        self.analog_in, self.analog_out = np.zeros(2), np.zeros(2)
        self.analog_types = 0
        self.slider, self.tool_voltage = 1.0, 0
        self.wrench = np.zeros(6)
        self.written = np.zeros(NUMBER, np.int64)
