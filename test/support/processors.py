# SPDX-License-Identifier: Apache-2.0
"""Return settings that make Numba compile for other processors.

Features that only the operating system or hand-written code uses, such as pku, are left out: no
compiled arithmetic contains them.
"""

import numpy as np
from llvmlite import binding as llvm

_BASELINE = "64bit cmov cx8 fxsr mmx sse sse2"
_V3 = (
    f"{_BASELINE} avx avx2 bmi bmi2 crc32 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 "
    "sse4.2 ssse3 xsave"
)
_SKYLAKE = (
    f"{_V3} adx aes avx512bw avx512cd avx512dq avx512f avx512vl clflushopt clwb fsgsbase "
    "invpcid pclmul prfchw rdrnd rdseed xsavec xsaveopt xsaves"
)
_ZEN3 = (
    f"{_V3} adx aes clflushopt clwb fsgsbase invpcid pclmul prfchw rdpid rdrnd rdseed sha sse4a "
    "vaes vpclmulqdq xsavec xsaveopt xsaves"
)

#: Features that generated code may use, by LLVM's name of the processor.
FEATURES = {
    name: frozenset(features.split())
    for name, features in {
        "generic": _BASELINE,
        "x86-64-v3": _V3,
        "skylake-avx512": _SKYLAKE,
        "znver3": _ZEN3,
    }.items()
}

#: Features by which the C library chooses variants of its functions.
GLIBC = ("AVX", "AVX2", "AVX512F", "AVX512VL", "FMA", "FMA4", "SSE4_1")


def missing(name):
    """Return the features of a processor that this machine lacks."""
    host = llvm.get_host_cpu_features()
    return sorted(feature for feature in FEATURES[name] if not host.get(feature))


def environment(name):
    """Return environment variables that make Numba and our LLVM compile for a processor.

    All other features of this machine are switched off by name.
    """
    features = dict.fromkeys(llvm.get_host_cpu_features(), False)
    features |= dict.fromkeys(FEATURES[name], True)
    listed = ",".join(f"{'+' if on else '-'}{feature}" for feature, on in features.items())
    return {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": listed}


def oldest_libraries():
    """Return environment variables that switch off variants of functions in glibc and NumPy.

    OpenBLAS uses its kernels for Nehalem, the oldest processor that NumPy supports.
    """
    found = np.show_config("dicts")["SIMD Extensions"].get("found", ())
    return {
        "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={','.join(f'-{name}' for name in GLIBC)}",
        "NPY_DISABLE_CPU_FEATURES": " ".join(found),
        "OPENBLAS_CORETYPE": "Nehalem",
    }
