# SPDX-License-Identifier: Apache-2.0
"""Write the C source, and the CMake file that builds a library and a test from it."""

from collections.abc import Mapping

from rbdyn_ros.codegen.functions import CFunction
from rbdyn_ros.codegen.names import comment
from rbdyn_ros.codegen.project import CProject, about, signature
from rbdyn_ros.specialization.languages.c_blocks import CBlocks, in_blocks
from rbdyn_ros.specialization.languages.c_language import (
    FLOAT,
    Real,
    Writer,
    check_divisors,
    statements,
)
from rbdyn_ros.specialization.programs.program import LEAVES, Program

#: Compiler options for warnings; generated code must not cause any.
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-pedantic")
FLOAT_WARNINGS = ("-Wdouble-promotion",)

#: Largest number of operations of a function that is not split into blocks.
LONGEST_FUNCTION = 5000

#: Largest number of operations of a block. For Talos, shorter blocks compile little faster and run
#: slower.
LONGEST_BLOCK = 2000

_CMAKE = """\
cmake_minimum_required(VERSION 3.10)
project({files.library} C)

include(CTest)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({files.library} STATIC {files.source})
target_include_directories({files.library} PUBLIC
  $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}>
  $<INSTALL_INTERFACE:include>)
set_target_properties({files.library} PROPERTIES
  C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
if(UNIX)
  target_link_libraries({files.library} PUBLIC m)
endif()
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options({files.library} PRIVATE {warnings})
endif()

install(TARGETS {files.library} ARCHIVE DESTINATION lib)
install(FILES {files.header} DESTINATION include)

if(BUILD_TESTING)
  add_executable({files.program} {files.test})
  set_target_properties({files.program} PROPERTIES
    C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  target_link_libraries({files.program} PRIVATE {files.library})
  add_test(NAME {files.program} COMMAND {files.program})
endif()
"""


def source(project: CProject) -> str:
    """Return the text of the C source.

    Raises:
        ModelError: a constant is not finite in the type of the numbers.
    """
    parts = [
        comment(about(project)),
        [f'#include "{project.files.header}"', "", "#include <math.h>"],
        *(_definition(project, function) for function in project.functions),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _definition(project: CProject, function: CFunction) -> list[str]:
    inputs = {argument.array: argument.name for argument in function.inputs}
    outputs = {argument.array: argument.name for argument in function.outputs}
    used = {array for array, _, _ in function.program.inputs}
    unused = [f"(void){name};" for array, name in inputs.items() if array not in used]
    program, real = function.program, project.real
    head = signature(project, function)
    if not _is_long(program):
        return _function(head, [*unused, *statements(program, inputs, outputs, real)])
    whole = blocks_of(program, inputs, outputs, real)
    number, calls = real.name, []
    lines = comment(
        f"Blocks of {project.prefix}_{function.name}; s holds the values that they share."
    )
    for k, block in enumerate(whole.blocks):
        name = f"block{k}_of_{project.prefix}_{function.name}"
        read = [c for array, c in inputs.items() if array in block.reads]
        taken = [*(f"const {number} {c}[]" for c in read), f"{number} s[]"]
        lines += [*_function(f"static void {name}({', '.join(taken)})", block.lines), ""]
        calls.append(f"{name}({', '.join([*read, 's'])});")
    body = [f"{number} s[{whole.size}];", *unused, *calls, *whole.stores]
    return [*lines, *_function(head, body)]


def blocks_of(
    program: Program, inputs: Mapping[str, str], outputs: Mapping[str, str], real: Real
) -> CBlocks:
    """Return the statements of a Program in blocks.

    For the arguments, see c_language.statements.
    """
    check_divisors(program, real)
    return in_blocks(
        program,
        lambda names: Writer(program, inputs, real, names),
        lambda array, k: f"{outputs[array]}[{k}]",
        LONGEST_BLOCK,
    )


def _is_long(program: Program) -> bool:
    """Return whether a program must be split: it is long, and does not only write constants."""
    computes = any(kind not in LEAVES for kind, *_ in program.operations)
    return computes and len(program.operations) > LONGEST_FUNCTION


def _function(head: str, body: list[str]) -> list[str]:
    return [head, "{", *(f"    {line}" for line in body), "}"]


def cmake(project: CProject) -> str:
    """Return the text of CMakeLists.txt."""
    warnings = " ".join((*WARNINGS, *(FLOAT_WARNINGS if project.real is FLOAT else ())))
    return _CMAKE.format(files=project.files, warnings=warnings)
