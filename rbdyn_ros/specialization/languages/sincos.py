# SPDX-License-Identifier: Apache-2.0
"""LLVM text of a function that computes the sines and cosines of several doubles at once.

    n = the integer nearest to x 2/pi,    r = x - n pi/2,    |r| <= pi/4 (1 + 1e-10)
    sin r = r + r^3 S(r^2),    cos r = 1 - r^2/2 + r^4 C(r^2)

where n modulo 4 determines which result is the sine, and the signs (pi/2 is split after Cody
and Waite, Software Manual for the Elementary Functions, but with fused multiply-adds). r is stored
as the sum r + low of two doubles, because rounding it would cost up to 0.4 ulp of the result. The
code uses only basic operations and explicit fused multiply-adds, so the bits of a lane depend only
on its x, not on other lanes or their number. The error is below 0.8 ulp for |x| <= LARGEST; lanes
with larger angles use sin and cos of the C library. NaN and infinities give NaN, and sin(-0.0) is
-0.0.
"""

import struct

#: The largest angle that is reduced here [rad]. B below relies on |n| < 2^16.
LARGEST = 1e5

# pi/2 = A + B + C + 1.8e-44. A is a full double: a fused n A leaves x - n A exact, by the choice
# of n. B has 37 bits, the last bit is 2^-90: n B is exact, and so is the rounding error of
# subtracting it. C is a full double again.
#
# S and C are the minimax polynomials of degree 5 for the relative errors of sin r and cos r with
# |r| <= pi/4 (1 + 1e-9), fitted by the Remez exchange algorithm in decimal arithmetic of 60
# digits. The coefficients were rounded to doubles one by one, the lowest first, and the others
# fitted again. The largest relative errors are 3.8e-18 of sin r and 5.7e-20 of cos r; half an ulp
# is at least 5.5e-17.
CONSTANTS = {
    "LARGEST": LARGEST,
    "ONE": 1.0,
    "MINUS_HALF": -0.5,
    "TWO_OVER_PI": 0.6366197723675814,
    "INTEGER": 1.5 * 2.0**52,  # in a number of this size the last bit has the value 1
    "MINUS_PI_A": -float.fromhex("0x1.921fb54442d18p+0"),
    "MINUS_PI_B": -float.fromhex("0x1.1a62633140000p-54"),
    "MINUS_PI_C": -2.9038559739793605e-28,
    "S0": -0.1666666666666663,
    "S1": 0.00833333333332184,
    "S2": -0.00019841269829358522,
    "S3": 2.7557313538511096e-06,
    "S4": -2.5050734388633495e-08,
    "S5": 1.5895433246246605e-10,
    "C0": 0.041666666666666595,
    "C1": -0.0013888888888873342,
    "C2": 2.48015872890021e-05,
    "C3": -2.7557314217051587e-07,
    "C4": 2.0875705398667987e-09,
    "C5": -1.1358749420489027e-11,
}

INTEGERS = {"1": 1, "62": 62, "SIGN": -(2**63)}

# One operation per line: result, operation, operands (results or constants). A sum with INTEGER
# has n in its last bits. S and C are summed in pairs, which shortens the chain of dependent
# operations. The sine takes the sign of r, which matters only for -0.0.
OPERATIONS = """
turns       fma      x TWO_OVER_PI INTEGER
n           fsub     turns INTEGER
near        fma      n MINUS_PI_A x
r           fma      n MINUS_PI_B near
moved       fsub     near r
lost        fma      n MINUS_PI_B moved
low         fma      n MINUS_PI_C lost
z           fmul     r r
zz          fmul     z z
S01         fma      z S1 S0
S23         fma      z S3 S2
S45         fma      z S5 S4
S25         fma      zz S45 S23
S           fma      zz S25 S01
C01         fma      z C1 C0
C23         fma      z C3 C2
C45         fma      z C5 C4
C25         fma      zz C45 C23
C           fma      zz C25 C01
half        fmul     r MINUS_HALF
parabola    fma      half r ONE
fallen      fsub     ONE parabola
rest        fma      half r fallen
minus_low   fneg     low
bend        fma      r minus_low rest
cos_tail    fma      zz C bend
cos_r       fadd     parabola cos_tail
cube        fmul     r z
low_part    fmul     low parabola
sin_tail    fma      cube S low_part
sin_sum     fadd     r sin_tail
sin_r       copysign sin_sum r
q           bits     turns
odd         odd      q
sin_size    select   odd cos_r sin_r
cos_size    select   odd sin_r cos_r
q_high      shl      q 62
sin_sign    and      q_high SIGN
q_next      add      q 1
q_next_high shl      q_next 62
cos_sign    and      q_next_high SIGN
sin_bits    bits     sin_size
cos_bits    bits     cos_size
sin_signed  xor      sin_bits sin_sign
cos_signed  xor      cos_bits cos_sign
sin         number   sin_signed
cos         number   cos_signed
size        fabs     x
far         exceeds  size LARGEST
"""

_TEXTS = {
    "fadd": "fadd {V} {0}, {1}",
    "fsub": "fsub {V} {0}, {1}",
    "fmul": "fmul {V} {0}, {1}",
    "fneg": "fneg {V} {0}",
    "fma": "call {V} @llvm.fma.{kind}({V} {0}, {V} {1}, {V} {2})",
    "fabs": "call {V} @llvm.fabs.{kind}({V} {0})",
    "copysign": "call {V} @llvm.copysign.{kind}({V} {0}, {V} {1})",
    "bits": "bitcast {V} {0} to {I}",
    "number": "bitcast {I} {0} to {V}",
    "and": "and {I} {0}, {1}",
    "xor": "xor {I} {0}, {1}",
    "shl": "shl {I} {0}, {1}",
    "add": "add {I} {0}, {1}",
    "odd": "trunc {I} {0} to {B}",
    "select": "select {B} {0}, {V} {1}, {V} {2}",
    "exceeds": "fcmp ogt {V} {0}, {1}",
}

_COLD = "noinline cold nounwind"

# A function without calls need not save registers, so a tail call handles lanes beyond LARGEST.
_SINCOS = """
define internal {{ {V}, {V} }} @sincos({V} %x) noinline nounwind {{
{body}
  %any = bitcast {B} %far to i{width}
  %rare = icmp ne i{width} %any, 0
  %half_pair = insertvalue {{ {V}, {V} }} undef, {V} %sin, 0
  %pair = insertvalue {{ {V}, {V} }} %half_pair, {V} %cos, 1
  br i1 %rare, label %beyond, label %done
done:
  ret {{ {V}, {V} }} %pair
beyond:
  %mended = tail call {{ {V}, {V} }} @{mend}({V} %x, {V} %sin, {V} %cos)
  ret {{ {V}, {V} }} %mended
}}
"""

_LANE = """
define internal { double, double } @sincos.lane(double %x, double %sin, double %cos) COLD {
entry:
  %above = fcmp ogt double %x, LARGEST
  %below = fcmp olt double %x, MINUS_LARGEST
  %far = or i1 %above, %below
  br i1 %far, label %library, label %done
library:
  %library_sin = call double @sin(double %x)
  %library_cos = call double @cos(double %x)
  br label %done
done:
  %final_sin = phi double [ %sin, %entry ], [ %library_sin, %library ]
  %final_cos = phi double [ %cos, %entry ], [ %library_cos, %library ]
  %half_pair = insertvalue { double, double } undef, double %final_sin, 0
  %pair = insertvalue { double, double } %half_pair, double %final_cos, 1
  ret { double, double } %pair
}
"""


def declarations(width: int) -> tuple[str, ...]:
    """Return the declarations that the text of sincos_text(width) needs.

    Returns:
        Lines of LLVM text that declare intrinsics and the C library's sin and cos. A module must
        contain each line exactly once.
    """
    V, kind = _vector("double", width), _kind(width)
    return (
        f"declare {V} @llvm.fma.{kind}({V}, {V}, {V})",
        f"declare {V} @llvm.fabs.{kind}({V})",
        f"declare {V} @llvm.copysign.{kind}({V}, {V})",
        "declare double @sin(double)",
        "declare double @cos(double)",
    )


def sincos_text(width: int) -> str:
    """Return the LLVM text of `{ V, V } @sincos(V %x)`: the sines and cosines of angles in rad.

    Args:
        width: number of lanes, W >= 1. V is double for one lane, and <W x double> for more.

    Returns:
        Definitions of internal functions: @sincos, and the functions that it calls (@sincos.*).
        They need the lines of declarations(width).
    """
    parts = [_sincos(width), _lane()]
    if width > 1:
        parts.append(_lanes(width))
    return "\n".join(parts)


def _sincos(width: int) -> str:
    """Return the text of the function for all lanes.

    Angles beyond LARGEST need another function.
    """
    V, I, B = (_vector(entry, width) for entry in ("double", "i64", "i1"))
    lines = []
    for line in OPERATIONS.split("\n")[1:-1]:
        result, operation, *names = line.split()
        operands = [_operand(name, width) for name in names]
        text = _TEXTS[operation].format(*operands, V=V, I=I, B=B, kind=_kind(width))
        lines.append(f"  %{result} = {text}")
    mend = "sincos.lanes" if width > 1 else "sincos.lane"
    return _SINCOS.format(V=V, B=B, width=width, mend=mend, body="\n".join(lines))


def _lane() -> str:
    """Return the text of the function that corrects one lane if its angle is beyond LARGEST."""
    text = _LANE.replace("MINUS_LARGEST", _double(-LARGEST)).replace("LARGEST", _double(LARGEST))
    return text.replace("COLD", _COLD)


def _lanes(width: int) -> str:
    """Return the text of the function that corrects the lanes with angles beyond LARGEST."""
    V = _vector("double", width)
    pair = "{ double, double }"
    lines = [
        f"define internal {{ {V}, {V} }} @sincos.lanes({V} %x, {V} %sin, {V} %cos) {_COLD} {{"
    ]
    sin, cos = "%sin", "%cos"
    for i in range(width):
        lines += [
            f"  %x{i} = extractelement {V} %x, i32 {i}",
            f"  %s{i} = extractelement {V} %sin, i32 {i}",
            f"  %c{i} = extractelement {V} %cos, i32 {i}",
            f"  %r{i} = call {pair} @sincos.lane(double %x{i}, double %s{i}, double %c{i})",
            f"  %rs{i} = extractvalue {pair} %r{i}, 0",
            f"  %rc{i} = extractvalue {pair} %r{i}, 1",
            f"  %sin{i} = insertelement {V} {sin}, double %rs{i}, i32 {i}",
            f"  %cos{i} = insertelement {V} {cos}, double %rc{i}, i32 {i}",
        ]
        sin, cos = f"%sin{i}", f"%cos{i}"
    lines += [
        f"  %half_pair = insertvalue {{ {V}, {V} }} undef, {V} {sin}, 0",
        f"  %pair = insertvalue {{ {V}, {V} }} %half_pair, {V} {cos}, 1",
        f"  ret {{ {V}, {V} }} %pair",
        "}",
    ]
    return "\n".join(lines)


def _vector(entry: str, width: int) -> str:
    return f"<{width} x {entry}>" if width > 1 else entry


def _kind(width: int) -> str:
    """Return the end of an intrinsic's name, which states its type."""
    return f"v{width}f64" if width > 1 else "f64"


def _double(value: float) -> str:
    """Return a double as its bits, which LLVM reads without rounding."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _operand(name: str, width: int) -> str:
    """Return an operand as text: a result, or a constant in all lanes."""
    if name in CONSTANTS:
        entry, value = "double", _double(CONSTANTS[name])
    elif name in INTEGERS:
        entry, value = "i64", str(INTEGERS[name])
    else:
        return f"%{name}"
    return f"<{', '.join([f'{entry} {value}'] * width)}>" if width > 1 else value
