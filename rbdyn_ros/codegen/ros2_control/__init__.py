# SPDX-License-Identifier: Apache-2.0
"""Generate a ros2_control package for one robot: dynamics, solver, and controller with its gate.

    tables.py    faults, constants and limits of control/ -> C++
    arm_kernels.py  start, modes, references and one update of the controller, as kernels
    kernels.py   these kernels, and the kernels of control/ that they call -> C++
    expected.py  states, and the efforts of the joint laws in these states, for the package's test
    package.py   Model -> ControlPackage: its names and the text of every file
    folder.py    texts -> a new folder, all files or none
    templates/   the files of a package, complete except for placeholders such as @{package}

In templates/src all files except controller.* and solver.cpp are plain C++17; the tests of this
project compile them and compare them with control/.
"""
