# SPDX-License-Identifier: Apache-2.0
"""rbdyn_ros: rigid-body dynamics for ROS 2 and Python, compiled.

    import rbdyn_ros as rb

    m = rb.load_urdf("robot.urdf")
    d = rb.make_data(m)
    rb.step(m, d, 1000)

A Model does not change, and a Data is the state of one robot. Names, layouts and frames are the
same as in MuJoCo.

The public names are listed in __init__.pyi, which type checkers and editors read. Each name is
imported when it is first used (PEP 562). So `import rbdyn_ros` loads neither NumPy nor Numba, and
loading a URDF does not import rollouts, pictures or recordings. The __getattr__ for this makes a
call of `rb.step` about 10 ns slower, but not a call after `from rbdyn_ros import step`.
"""

__version__ = "1.0.0"

_modules: dict[str, str] = {}  # the module of each public name, from __init__.pyi


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
        from rbdyn_ros.other_names import our_words

        hint = our_words("rb", name)
        raise AttributeError(f"module 'rbdyn_ros' has no attribute '{name}'{hint}")
    import importlib
    import sys

    from rbdyn_ros.collector import uncollected

    # the garbage collector would take a fifth of the time of these imports
    with uncollected(lasting=True):
        value = _load(name)
        # this import registers the checks of Models, which unpickling needs too
        if "numba" in sys.modules:
            importlib.import_module(f"{__name__}.loading.load")
    return value


def _load(name: str) -> object:
    import importlib

    module = importlib.import_module(_modules[name])
    if not hasattr(module, name):
        importlib.import_module(f"{_modules[name]}.{name}")
    # store the object in globals(), where the next access finds it
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    return sorted({*globals(), *_read_names()})
