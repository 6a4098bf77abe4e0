# SPDX-License-Identifier: Apache-2.0
"""rbdyn_ros: rigid-body dynamics for ROS 2 and Python, compiled.

    import rbdyn_ros as rb

    m = rb.load_urdf("robot.urdf")
    d = rb.make_data(m)
    rb.step(m, d, 1000)

A Model is static, a Data is the state of one robot; names, layouts and frames are MuJoCo's.

The public names are listed in __init__.pyi, which type checkers and editors read. They are
imported when they are first used (PEP 562): `import rbdyn_ros` loads neither NumPy nor Numba.
"""

__version__ = "1.0.0"

_modules: dict[str, str] = {}  # of each public name, read from __init__.pyi


def _read_names() -> dict[str, str]:
    if not _modules:
        import ast

        with open(f"{__file__}i", encoding="ascii") as file:  # noqa: PTH123 - pathlib is slow to import
            stub = ast.parse(file.read())
        for node in stub.body:
            if isinstance(node, ast.ImportFrom):
                _modules.update((alias.name, str(node.module)) for alias in node.names)
    return _modules


def __getattr__(name: str) -> object:
    if name == "__all__":
        return sorted(_read_names())
    if name.startswith("__") or name not in _read_names():
        raise AttributeError(f"module 'rbdyn_ros' has no attribute '{name}'")
    import gc
    import sys

    collects = gc.isenabled()
    gc.disable()  # modules are no garbage; to search them for it takes a fifth of a start
    try:
        value = _load(name)
        if "numba" in sys.modules:  # most of the loading is done
            _load_all()
    finally:
        if collects and not gc.get_freeze_count():  # they join the oldest generation unsearched
            gc.freeze()
            gc.unfreeze()
        if collects:
            gc.enable()
    return value


def _load(name: str) -> object:
    import importlib

    value: object = getattr(importlib.import_module(_modules[name]), name)
    return globals().setdefault(name, value)  # the next access does not come here


def _load_all() -> None:
    """Load all names and drop __getattr__, which makes every `rb.step` some 30 ns slower."""
    for name in _read_names():
        _load(name)
    globals()["__all__"] = sorted(_read_names())
    globals().pop("__getattr__", None)


def __dir__() -> list[str]:
    return sorted({*globals(), *_read_names()})
