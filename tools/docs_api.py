# SPDX-License-Identifier: Apache-2.0
"""Generate the API: a page of the site for each topic, and docs/reference/api.md with all names.

The pages with signatures and docstrings are parts of the site only: tools/docs_site.py adds them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
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

All public names of the Python library, by topic. They work without ROS. `rb` is
`import rbdyn_ros as rb`. `help(rb.step)` prints the signature and the docstring of a name, and
`make docs` builds a page with both for each topic. Arrays of the Model `m` and the Data `d` are in
[fields.md](fields.md). [interfaces.md](interfaces.md) describes `ArmClient`, which calls an arm's
controller over ROS. `tools/docs.py` writes this page; do not edit it.
"""

NOTE = "`rb` is `import rbdyn_ros as rb`, `Array` a NumPy array of floats. [All topics](api.md)."


@dataclass(frozen=True)
class Group:
    """A section of the page.

    Attributes:
        title: heading.
        text: introduction with a link to a guide.
        modules: beginnings of the names of the modules in this section.
    """

    title: str
    text: str
    modules: tuple[str, ...]


#: A name is in the first group that lists its module; the last group has all other names.
GROUPS = (
    Group(
        "Errors",
        "All are subclasses of `RbdynError`, which has a `Finding` for each flaw.",
        ("errors",),
    ),
    Group(
        "Loading and saving",
        "From a file to a Model, and back: "
        "[the Python tutorial](../tutorials/python_tutorial.md), "
        "[saved Models](../guides/mechanisms.md#save-a-model).",
        ("loading", "writing", "dynamics.payload", "dynamics.attaching", "actuators", "report"),
    ),
    Group(
        "Building",
        "Systems without a file: [mechanisms.md](../guides/mechanisms.md), "
        "[contact.md](../guides/contact.md).",
        ("description",),
    ),
    Group("Model and Data", "The static description of a robot, and its state.", ("model",)),
    Group(
        "Configurations, joints and constraints",
        "[joints.md](joints.md), [mechanisms.md](../guides/mechanisms.md#loops), "
        "[constraints.md](../explanation/constraints.md).",
        (
            "dynamics.configuration",
            "dynamics.joint_model",
            "dynamics.drives",
            "dynamics.explicit",
            "dynamics.assembly",
            "engine.joints",
        ),
    ),
    Group(
        "Stages and ticks",
        "Functions of `(m, d)`, compiled: [architecture.md](../explanation/architecture.md).",
        ("dynamics.stages", "dynamics.saved_state", "engine"),
    ),
    Group(
        "Toolbox",
        "Quantities of a robot besides its motion: [dynamics.md](../guides/dynamics.md).",
        ("dynamics.toolbox",),
    ),
    Group(
        "Control boxes",
        "Arms for unmodified clients: [Franka](../guides/control_box.md), "
        "[Universal Robots](../guides/ur_box.md).",
        ("control_box",),
    ),
    Group(
        "Learned policies",
        "Learned policies from ONNX files: [policies.md](../guides/policies.md).",
        ("policies",),
    ),
    Group(
        "Contacts, distances and rays",
        "Contacts and distances: [contact.md](../guides/contact.md). Rays: "
        "[sensors.md](../guides/sensors.md#rays).",
        (
            "dynamics.contacts",
            "dynamics.collisions",
            "dynamics.rays",
            "dynamics.ray_shapes",
            "sensors.scanning",
            "view.scene.visual_shapes",
        ),
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
        "View",
        "Films, graphs, and the robot in a browser: [view.md](../guides/view.md).",
        ("view",),
    ),
)

#: Packages with a section of their own, and its introduction.
PACKAGES = (
    ("control", "Control laws and paths of arms: [control_laws.md](../guides/control_laws.md)."),
    (
        "identification",
        "Parameters from recorded motions: [identification.md](../guides/identification.md).",
    ),
    ("sensors", "Readings of sensors: [sensors.md](../guides/sensors.md)."),
    ("actuators", "Motors, gears and drives: [actuators.md](../guides/actuators.md)."),
    ("trials", "Controllers in many seeded runs: [trials.md](../guides/trials.md)."),
)


def public_names(module: ModuleType) -> list[str]:
    """Return the public names of a package: `from x import y as y`, anywhere in its file."""
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


@dataclass(frozen=True)
class Topic:
    """A page of the site: its title, its introduction, and public names with their objects."""

    title: str
    text: str
    things: dict[str, Any]

    @property
    def file(self) -> str:
        """File name of the page below docs/reference/."""
        words = self.title.removeprefix(f"{PACKAGE}.").lower().replace(",", "").split()
        return f"api_{'_'.join(words)}.md"

    def page(self) -> str:
        """Return the page, with signatures and docstrings."""
        parts = [f"# {self.title}", self.text, NOTE]
        parts += [text for name, thing in self.things.items() for text in _entry(name, thing)]
        return "\n\n".join(filter(None, (part.strip() for part in parts))) + "\n"


def topics() -> list[Topic]:
    """Return all topics with their public names."""
    rb = importlib.import_module(PACKAGE)
    things = {name: getattr(rb, name) for name in public_names(rb)}
    found = [
        Topic(
            group.title,
            group.text,
            {f"rb.{name}": thing for name, thing in things.items() if _group(thing) is group},
        )
        for group in GROUPS
    ]
    for package, text in PACKAGES:
        module = importlib.import_module(f"{PACKAGE}.{package}")
        names = {f"{package}.{name}": getattr(module, name) for name in public_names(module)}
        found.append(Topic(f"{PACKAGE}.{package}", text, names))
    return [topic for topic in found if topic.things]


def api_page(linked: bool = False) -> str:
    """Return the page with all names; linked: whether its headings link to the topics."""
    parts = [HEAD]
    for topic in topics():
        title = f"[{topic.title}]({topic.file})" if linked else topic.title
        parts += [f"## {title}", topic.text, ", ".join(f"`{name}`" for name in topic.things)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _group(thing: Any) -> Group:
    where = thing.__name__ if inspect.ismodule(thing) else thing.__module__
    for group in GROUPS:
        for start in group.modules:
            if f"{where}.".startswith(f"{PACKAGE}.{start}."):
                return group
    raise LookupError(f"{where} is in no group of tools/docs_api.py")


def _entry(name: str, thing: Any) -> Iterator[str]:
    """Yield the paragraphs of a public name: heading, signature, docstring and members."""
    yield f"## {name}"
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
    if not own.startswith(f"{kind.__name__}("):  # skip the docstring that dataclass generates
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
    """Return whether a function is ours and has a docstring."""
    return inspect.isfunction(function) and bool(function.__doc__)


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield public methods and properties of a class, without methods that errors inherit."""
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
    """Return a signature as a block of text, wrapped if it is long."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return f"```text\n{name}\n```"
    written = _written(function)
    parts = list(_parameters(signature, written))
    back = signature.return_annotation
    hidden = back is signature.empty or inspect.isclass(function)
    end = "" if hidden else f" -> {_type(back, written.get('return'))}"
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) > 95:
        line = f"{name}(\n    " + ",\n    ".join(parts) + f",\n){end}"
    return f"```text\n{line}\n```"


STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}


def _parameters(signature: inspect.Signature, written: dict[str, str]) -> Iterator[str]:
    only = False
    for parameter in signature.parameters.values():
        if parameter.name in {"self", "cls"}:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not only:
            yield "*"
        only = only or parameter.kind in {parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL}
        text = STARS.get(parameter.kind.name, "") + parameter.name
        if parameter.annotation is not parameter.empty:
            text += f": {_type(parameter.annotation, written.get(parameter.name))}"
        if parameter.default is not parameter.empty:
            value = repr(parameter.default)
            text += f" = {value if len(value) < 40 and '<' not in value else '...'}"
        yield text


def _written(thing: Any) -> dict[str, str]:
    """Return the annotations of a function, or of a class's fields and __init__, as in the source.

    An evaluated annotation would show a NumPy array type in place of `Array`.
    """
    if not inspect.isclass(thing):
        return dict(_annotations(thing))
    ours = [kind for kind in thing.__mro__[::-1] if kind.__module__.startswith(PACKAGE)]
    return {name: text for kind in ours for name, text in _annotations(kind)}


def _annotations(thing: Any) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    except (OSError, TypeError):
        return
    top = tree.body[0]
    for node in top.body if isinstance(top, ast.ClassDef) else [top]:
        if isinstance(node, ast.AnnAssign):
            yield ast.unparse(node.target), ast.unparse(node.annotation).strip("'")
        elif isinstance(node, ast.FunctionDef) and node.name in {thing.__name__, "__init__"}:
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg) and argument.annotation:
                    yield argument.arg, ast.unparse(argument.annotation).strip("'")
            if node.returns:
                yield "return", ast.unparse(node.returns).strip("'")


def _type(annotation: Any, written: str | None) -> str:
    if isinstance(annotation, str):
        return annotation
    return written or str(getattr(annotation, "__name__", "..."))
