# SPDX-License-Identifier: Apache-2.0
"""Write the test of generated code: a C program that compares it with the engine's results."""

from collections.abc import Iterable

from rbdyn_ros.arrays import Array
from rbdyn_ros.codegen.functions import CFunction
from rbdyn_ros.codegen.names import comment
from rbdyn_ros.codegen.project import CProject, length
from rbdyn_ros.codegen.samples import STATES, Sample, least, samples, tolerance
from rbdyn_ros.codegen.table import Argument

_HELPERS = """\
/* The largest difference over the largest expected entry; infinite if a number is NaN. */
static double error_of(const {real} found[], const {real} expected[], size_t count, double least)
{{
    double difference = 0.0;
    double largest = least;
    size_t k;
    for (k = 0U; k < count; k++) {{
        const double here = fabs((double)found[k] - (double)expected[k]);
        if (!(here <= difference)) {{
            difference = (here > difference) ? here : HUGE_VAL;
        }}
        largest = fmax(largest, fabs((double)expected[k]));
    }}
    return (largest > 0.0) ? (difference / largest) : difference;
}}

/* Print the result of a function; return 1 if its error is too large, else 0. */
static int report(const char *name, double worst, double allowed)
{{
    const int failed = (worst <= allowed) ? 0 : 1;
    (void)printf("%-24s largest relative error %.1e, allowed %.1e: %s\\n",
        name, worst, allowed, (failed == 0) ? "passed" : "FAILED");
    return failed;
}}"""


def self_test(project: CProject) -> str:
    """Return the text of the test program."""
    found = samples(project)
    taken = {a.array: a for f in project.functions for a in f.inputs}
    inputs = [
        _numbers(project, _given(project, a), a, [sample.inputs[a.array] for sample in found])
        for a in taken.values()
    ]
    parts = [
        comment(f"Compares the results of {project.files.source} with the results of the engine."),
        [f'#include "{project.files.header}"', ""],
        ["#include <math.h>", "#include <stddef.h>", "#include <stdio.h>", "#include <stdlib.h>"],
        [f"#define STATES {STATES}U"],
        *inputs,
        [_HELPERS.format(real=project.real.name)],
        *(
            part
            for function in project.functions
            for part in _of_function(project, function, found)
        ),
        _main(project),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _numbers(project: CProject, name: str, argument: Argument, rows: Iterable[Array]) -> list[str]:
    """Return the C table of an argument in all states."""
    lines = [f"static const {project.real.name} {name}[STATES][{length(project, argument)}] = {{"]
    for row in rows:
        texts = [project.real.exact(float(x)) for x in row]
        lines.append("    {")
        lines += [f"        {', '.join(texts[k : k + 3])}," for k in range(0, len(texts), 3)]
        lines.append("    },")
    return [*lines, "};"]


def _of_function(
    project: CProject, function: CFunction, found: list[Sample]
) -> Iterable[list[str]]:
    for argument in function.outputs:
        rows = [sample.outputs[function.name][argument.array] for sample in found]
        yield _numbers(project, _expected(project, function, argument), argument, rows)
    declared = [
        f"    {project.real.name} {a.name}_found[{length(project, a)}];" for a in function.outputs
    ]
    given = [f"{_given(project, a)}[k]" for a in function.inputs]
    filled = [f"{a.name}_found" for a in function.outputs]
    yield [
        f"static int {project.prefix}_test_{function.name}(void)",
        "{",
        *declared,
        "    double worst = 0.0;",
        "    size_t k;",
        "    for (k = 0U; k < STATES; k++) {",
        f"        {project.prefix}_{function.name}({', '.join([*given, *filled])});",
        *(line for a in function.outputs for line in _compared(project, function, a)),
        "    }",
        f'    return report("{function.name}", worst, {tolerance(project, function, found):.3e});',
        "}",
    ]


def _compared(project: CProject, function: CFunction, argument: Argument) -> list[str]:
    return [
        f"        worst = fmax(worst, error_of({argument.name}_found,",
        f"            {_expected(project, function, argument)}[k],",
        f"            {length(project, argument)}, {least(project, argument):.3e}));",
    ]


def _given(project: CProject, argument: Argument) -> str:
    return f"{project.prefix}_given_{argument.name}"


def _expected(project: CProject, function: CFunction, argument: Argument) -> str:
    return f"{project.prefix}_expected_{function.name}_{argument.name}"


def _main(project: CProject) -> list[str]:
    calls = [
        f"    failed += {project.prefix}_test_{function.name}();" for function in project.functions
    ]
    return [
        "int main(void)",
        "{",
        "    int failed = 0;",
        *calls,
        "    return (failed == 0) ? EXIT_SUCCESS : EXIT_FAILURE;",
        "}",
    ]
