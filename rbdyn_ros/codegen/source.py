"""The source, and the CMake file that makes a library and a test of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbdyn_ros.codegen.header import Code, about, signature
from rbdyn_ros.codegen.language import FLOAT, statements
from rbdyn_ros.codegen.names import comment

if TYPE_CHECKING:
    from rbdyn_ros.codegen.functions import CFunction

#: Warnings that generated code does not cause.
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-pedantic")
FLOAT_WARNINGS = ("-Wdouble-promotion",)

_CMAKE = """\
cmake_minimum_required(VERSION 3.10)
project({name} C)

include(CTest)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({name} STATIC {name}.c)
target_include_directories({name} PUBLIC
  $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}>
  $<INSTALL_INTERFACE:include>)
set_target_properties({name} PROPERTIES
  C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
if(UNIX)
  target_link_libraries({name} PUBLIC m)
endif()
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options({name} PRIVATE {warnings})
endif()

install(TARGETS {name} ARCHIVE DESTINATION lib)
install(FILES {name}.h DESTINATION include)

if(BUILD_TESTING)
  add_executable({test} {test}.c)
  set_target_properties({test} PROPERTIES
    C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
  target_link_libraries({test} PRIVATE {name})
  add_test(NAME {test} COMMAND {test})
endif()
"""


def source(code: Code) -> str:
    """Return the text of the source.

    Raises:
        ModelError: a constant is not finite in the type of the numbers.
    """
    parts = [
        comment(about(code)),
        [f'#include "{code.prefix}_dynamics.h"', "", "#include <math.h>"],
        *(_definition(code, function) for function in code.functions),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _definition(code: Code, function: CFunction) -> list[str]:
    inputs = {argument.array: argument.name for argument in function.inputs}
    outputs = {argument.array: argument.name for argument in function.outputs}
    used = {array for array, _, _ in function.program.inputs}
    unused = [f"(void){name};" for array, name in inputs.items() if array not in used]
    lines = [*unused, *statements(function.program, inputs, outputs, code.real)]
    return [signature(code, function), "{", *(f"    {line}" for line in lines), "}"]


def cmake(code: Code) -> str:
    """Return the text of CMakeLists.txt."""
    warnings = " ".join((*WARNINGS, *(FLOAT_WARNINGS if code.real is FLOAT else ())))
    name, test = f"{code.prefix}_dynamics", f"test_{code.prefix}"
    return _CMAKE.format(name=name, test=test, warnings=warnings)
