"""The page of all public names of the library, from their signatures and docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from docs_words import as_markdown, escaped

PACKAGE = "rbdyn_ros"

HEAD = """\
# API

Written by `tools/docs.py` from the docstrings; do not edit. `rb` is `import rbdyn_ros as rb`.
None of it needs ROS. Arrays of the Model `m` and the Data `d` are in [fields.md](fields.md);
`Array` is a NumPy array of floats. What asks an arm's controller over ROS is in
[interfaces.md](interfaces.md).
"""


@dataclass(frozen=True)
class Group:
    """A part of the page.

    Attributes:
        title: its heading.
        text: what it is about, with a link to a guide.
        modules: where its names come from, as beginnings of the names of modules.
    """

    title: str
    text: str
    modules: tuple[str, ...]


#: Names are in the first group whose modules have them; the last one takes what is left.
GROUPS = (
    Group(
        "Errors",
        "All are an `RbdynError`, which carries a `Finding` for everything that is wrong.",
        ("errors",),
    ),
    Group(
        "Loading and saving",
        "From a file to a Model, and back: [simulations.md](../guides/simulations.md).",
        ("loading", "dynamics.payload", "report"),
    ),
    Group(
        "Building",
        "Systems that no file describes: [mechanisms.md](../guides/mechanisms.md), "
        "[contact.md](../guides/contact.md).",
        ("description",),
    ),
    Group("Model and Data", "What is simulated, and its state.", ("model",)),
    Group(
        "Stages and ticks",
        "Functions of `(m, d)`, compiled: [architecture.md](../explanation/architecture.md).",
        ("dynamics.stages",),
    ),
    Group(
        "Configurations, joints and constraints",
        "[joints.md](joints.md), [constraints.md](../explanation/constraints.md).",
        (
            "dynamics.configuration",
            "dynamics.joint_model",
            "dynamics.drives",
            "dynamics.explicit",
            "dynamics.assembly",
            "engine",
        ),
    ),
    Group(
        "Toolbox",
        "What is asked of a robot beside its motion: [dynamics.md](../guides/dynamics.md).",
        ("dynamics.toolbox",),
    ),
    Group(
        "Specialised code and rollouts",
        "[specialisation.md](../guides/specialisation.md), [rollouts.md](../guides/rollouts.md).",
        ("specialization", "rollouts"),
    ),
    Group(
        "Recording",
        "Runs as MCAP files: [recordings.md](../guides/recordings.md).",
        ("recording",),
    ),
    Group(
        "View", "Films, graphs, the robot in a browser: [view.md](../guides/view.md).", ("view",)
    ),
)

#: Packages of their own, with what they are about.
PACKAGES = (
    ("control", "Control of arms: [control_laws.md](../guides/control_laws.md)."),
    (
        "identification",
        "From a motion to parameters: [identification.md](../guides/identification.md).",
    ),
    ("sensors", "What sensors show: [sensors.md](../guides/sensors.md)."),
)


def public_names(module: ModuleType) -> list[str]:
    """Return what a package offers: `from x import y as y`, wherever in its file that stands."""
    source = Path(str(module.__file__))
    stub = source.with_suffix(".pyi")
    tree = ast.parse((stub if stub.exists() else source).read_text(encoding="utf-8"))
    return sorted(
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    )


def api_page() -> str:
    """Return the page as Markdown."""
    rb = importlib.import_module(PACKAGE)
    things = {name: getattr(rb, name) for name in public_names(rb)}
    parts = [HEAD]
    for group in GROUPS:
        found = {name: thing for name, thing in things.items() if _group(thing) is group}
        if found:
            parts += [f"## {group.title}", group.text]
            parts += [text for name in found for text in _entry(f"rb.{name}", found[name])]
    for package, text in PACKAGES:
        module = importlib.import_module(f"{PACKAGE}.{package}")
        parts += [f"## {PACKAGE}.{package}", text]
        for name in public_names(module):
            parts += _entry(f"{package}.{name}", getattr(module, name))
    return "\n\n".join(filter(None, (part.strip() for part in parts))) + "\n"


def _group(thing: Any) -> Group:
    where = thing.__name__ if inspect.ismodule(thing) else thing.__module__
    for group in GROUPS:
        for start in group.modules:
            if f"{where}.".startswith(f"{PACKAGE}.{start}."):
                return group
    raise LookupError(f"{where} is in no group of tools/docs_api.py")


def _entry(name: str, thing: Any) -> Iterator[str]:
    """Yield the paragraphs about a name."""
    yield f"### {name}"
    if inspect.ismodule(thing):
        yield as_markdown(thing.__doc__)
        for part in _functions(thing):
            yield from _described(f"{name}.{part}", getattr(thing, part))
    elif inspect.isclass(thing):
        yield from _class(name, thing)
    elif callable(thing):
        yield _code(name, thing)
        yield as_markdown(thing.__doc__)
    else:
        yield f"`{escaped(str(thing))}`"


def _functions(module: ModuleType) -> list[str]:
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(thing) or inspect.isclass(thing))
        and thing.__module__ == module.__name__
    ]


def _class(name: str, kind: type) -> Iterator[str]:
    if issubclass(kind, Enum):
        yield as_markdown(kind.__doc__)
        yield ", ".join(f"`{member.name}`" for member in kind)
        return
    yield _code(name, kind)
    own = kind.__doc__ or ""
    if not own.startswith(f"{kind.__name__}("):  # what dataclass writes of itself
        yield as_markdown(own)
    if _has_words(kind.__init__):
        yield as_markdown(kind.__init__.__doc__)
    members = dict(_members(kind))
    silent = [part for part, member in members.items() if not _is_method(member, True)]
    if silent:
        yield "Properties: " + ", ".join(f"`{part}`" for part in silent)
    for part, member in members.items():
        if _is_method(member):
            yield from _described(f"{name}.{part}", member)
        elif member.__doc__:
            yield f"`{name}.{part}`: " + as_markdown(member.__doc__)


def _is_method(member: Any, or_described: bool = False) -> bool:
    return inspect.isfunction(member) or (or_described and bool(member.__doc__))


def _has_words(function: Any) -> bool:
    """Whether a function is written by us and says something."""
    return inspect.isfunction(function) and bool(function.__doc__)


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class; errors share those of their base."""
    for name in dict.fromkeys(part for base in kind.__mro__[::-1] for part in vars(base)):
        owner = next(base for base in kind.__mro__ if name in vars(base))
        member = vars(owner)[name]
        known = owner is not kind and issubclass(owner, Exception)
        if name.startswith("_") or known or not owner.__module__.startswith(PACKAGE):
            continue
        if isinstance(member, classmethod | staticmethod):
            yield name, member.__func__
        elif inspect.isfunction(member) or isinstance(member, property | cached_property):
            yield name, member


def _described(name: str, function: Any) -> Iterator[str]:
    yield _code(name, function)
    yield as_markdown(function.__doc__)


def _code(name: str, function: Any) -> str:
    """Return a signature as a block of text, broken where it is long."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return f"```text\n{name}\n```"
    parts = list(_parameters(signature))
    back = signature.return_annotation
    end = "" if back is signature.empty or inspect.isclass(function) else f" -> {_type(back)}"
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) > 95:
        line = f"{name}(\n    " + ",\n    ".join(parts) + f",\n){end}"
    return f"```text\n{line}\n```"


STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    only = False
    for parameter in signature.parameters.values():
        if parameter.name in {"self", "cls"}:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not only:
            yield "*"
        only = only or parameter.kind in {parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL}
        text = STARS.get(parameter.kind.name, "") + parameter.name
        if parameter.annotation is not parameter.empty:
            text += f": {_type(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            value = repr(parameter.default)
            text += f" = {value if len(value) < 40 and '<' not in value else '...'}"
        yield text


def _type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "...")
