# SPDX-License-Identifier: Apache-2.0
"""The function of sincos.py in C++, for one angle: the same operations, so the same bits."""

from rbdyn_ros.specialization.languages.sincos import CONSTANTS, INTEGERS, OPERATIONS

_INTEGER = "unsigned long long"

#: For each operation of sincos.OPERATIONS, the type of its result and its expression.
_TEXTS = {
    "fadd": ("double", "{0} + {1}"),
    "fsub": ("double", "{0} - {1}"),
    "fmul": ("double", "{0} * {1}"),
    "fneg": ("double", "-{0}"),
    "fma": ("double", "fma({0}, {1}, {2})"),
    "fabs": ("double", "fabs({0})"),
    "copysign": ("double", "copysign({0}, {1})"),
    "bits": (_INTEGER, "bits_of({0})"),
    "number": ("double", "number_of({0})"),
    "and": (_INTEGER, "{0} & {1}"),
    "xor": (_INTEGER, "{0} ^ {1}"),
    "shl": (_INTEGER, "{0} << {1}"),
    "add": (_INTEGER, "{0} + {1}"),
    "odd": ("bool", "({0} & 1) != 0"),
    "select": ("double", "{0} ? {1} : {2}"),
    "exceeds": ("bool", "{0} > {1}"),
}

# DEVICE and APART are macros of the file: an inlined function, and a function that is not inlined.
_DOUBLE = """\
#if defined(__CUDACC__)
DEVICE unsigned long long bits_of(double x)
{{
    return (unsigned long long)__double_as_longlong(x);
}}

DEVICE double number_of(unsigned long long bits)
{{
    return __longlong_as_double((long long)bits);
}}
#else
DEVICE unsigned long long bits_of(double x)
{{
    unsigned long long bits;
    memcpy(&bits, &x, 8);
    return bits;
}}

DEVICE double number_of(unsigned long long bits)
{{
    double x;
    memcpy(&x, &bits, 8);
    return x;
}}
#endif

APART void far_sin_cos(double x, double &sine, double &cosine)
{{
    sine = sin(x);
    cosine = cos(x);
}}

/* Sine and cosine of an angle [rad], below 0.8 ulp up to 1e5. */
DEVICE void sin_cos(double x, double &sine, double &cosine)
{{
{body}
    sine = sin;
    cosine = cos;
    if (far) {{
        far_sin_cos(x, sine, cosine);
    }}
}}
"""

_FLOAT = """\
/* Sine and cosine of an angle [rad]. */
APART void sin_cos(float x, float &sine, float &cosine)
{
    sine = sinf(x);
    cosine = cosf(x);
}
"""


def sincos_source(number: str) -> str:
    """Return the definition of `void sin_cos(number x, number &sine, number &cosine)`.

    Args:
        number: "double" for the bits of the LLVM code, or "float" for the C library's functions.
    """
    return _DOUBLE.format(body="\n".join(_lines())) if number == "double" else _FLOAT


def _lines() -> list[str]:
    lines = []
    for line in OPERATIONS.split("\n")[1:-1]:
        result, operation, *names = line.split()
        kind, text = _TEXTS[operation]
        lines.append(f"    const {kind} {result} = {text.format(*map(_operand, names))};")
    return lines


def _operand(name: str) -> str:
    if name in CONSTANTS:
        value = float(CONSTANTS[name]).hex()
        return f"({value})" if value.startswith("-") else value
    if name in INTEGERS:
        return f"{INTEGERS[name] % 2**64}ULL"
    return name
