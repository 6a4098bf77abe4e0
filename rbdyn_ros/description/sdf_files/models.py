# SPDX-License-Identifier: Apache-2.0
"""Read the models of an SDF with all that they include: their links, joints and frames."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.sdf_files.document import opened, with_place
from rbdyn_ros.description.sdf_files.files import MissingModelError, ModelFiles
from rbdyn_ros.description.sdf_files.frames import Frame, Scope
from rbdyn_ros.description.xml_files.sdf_elements import SdfElement, SdfFile
from rbdyn_ros.errors import DescriptionError, quote

#: Largest number of included files, largest depth of includes, and of nested models.
MOST_INCLUDES, DEEPEST, DEEPEST_MODEL = 2000, 32, 64


@dataclass(frozen=True, slots=True, eq=False)
class SdfTree:
    """All that an SDF file describes.

    Attributes:
        world: the scope of the world; for a model alone, a world that contains it.
        is_world: whether the file describes a world.
        files: the file, and all files that it includes.
    """

    world: Scope
    is_world: bool
    files: list[SdfFile]

    def links(self) -> Iterator[Frame]:
        """Yield all links, in the order of the file."""
        return self._of_kind("link")

    def joints(self) -> Iterator[Frame]:
        """Yield all joints, in the order of the file."""
        return self._of_kind("joint")

    def _of_kind(self, kind: str) -> Iterator[Frame]:
        for scope in self.world.walk():
            own = (frame for frame in scope.frames.values() if frame.scope is scope)
            yield from (frame for frame in own if frame.kind == kind)


def read_tree(
    source: Path | str | bytes, audit: Audit, package_dirs: Sequence[str | Path] = ()
) -> SdfTree:
    """Read a file and all files that it includes.

    Args:
        source: the path of the file, or the text of a document, which names no file by a path.
        audit: receives the errors.
        package_dirs: folders that have models.

    Raises:
        DescriptionError: the file cannot be read, or is no SDF.
    """
    return _ModelReader(audit, package_dirs).tree(source)


class _ModelReader:
    def __init__(self, audit: Audit, package_dirs: Sequence[str | Path]) -> None:
        self._audit, self._files = audit, ModelFiles(package_dirs)
        self._documents: list[SdfFile] = []
        self._path: list[Path] = []

    def tree(self, source: Path | str | bytes) -> SdfTree:
        document = opened(source, self._audit)
        self._documents.append(document)
        self._path += [source.resolve()] if isinstance(source, Path) else []
        top = document.top
        worlds, models = list(top.children("world")), list(top.children("model", "include"))
        for extra in (*worlds[1:], *(models if worlds else models[1:])):
            text = "the file has more than one world or model; the first one counts"
            extra.repair("several-models", text, "the others are left out", found=extra.name)
        scope = Scope(worlds[0] if worlds else top, "", None)
        if worlds:
            self._fill(scope)
        elif models:
            self._entity(models[0], scope)
        else:
            text = "the file has no <model> and no <world>"
            top.error("missing-element", text, allowed="<model> or <world>")
        return SdfTree(scope, bool(worlds), self._documents)

    def _fill(self, scope: Scope) -> None:
        """Read the elements of a model or a world into its scope."""
        for part in scope.part.children("model", "include", "link", "joint", "frame"):
            name = part.name
            if part.tag in ("model", "include"):
                self._entity(part, scope)
            elif part.tag == "link" and scope.parent is None:
                part.error("misplaced", "a world has no links of its own; put it into a <model>")
            else:
                attached = part.word("child") if part.tag == "joint" else ""
                attached = part.attribute("attached_to") if part.tag == "frame" else attached
                frame = Frame(part.tag, scope.prefix + name, scope, part, part.pose())
                frame.relative_to, frame.attached_to = part.relative_to(), attached
                scope.add(name, frame)
                scope.collides |= part.tag == "link" and part.flag("self_collide")

    def _entity(self, part: SdfElement, scope: Scope) -> None:
        """Read a model, or an include, in a scope."""
        if part.tag == "model":
            self._model(part, part, scope)
            return
        merges = part.truth(part.attribute("merge"), default=False)
        uri = part.word("uri")
        owner = f"the include {quote(uri, 200)}"
        asked = SdfElement(part.document, part.element, owner)
        found = self._included(asked, uri, scope)
        if found is None:
            self._audit.partial = True
            return
        if found.tag == "light":
            placed = part if part.child("pose") is not None else found
            found.put_back()  # looks.py reads the light later
            part.relative_to()
            scope.lights.append((found, placed))
        else:
            self._model(found, part, scope, merges)
        self._path.pop()

    def _included(self, asked: SdfElement, uri: str, scope: Scope) -> SdfElement | None:
        """Return the model of an included file, or in a world its light; None after an error.

        `asked` is the include, and `uri` its address.
        """
        try:
            path = self._files.find(uri, asked.document.folder)
        except MissingModelError as error:
            asked.repair(error.code, f"it {error}", "it is left out", found=uri[:200])
            return None
        except (OSError, ValueError) as error:
            asked.error("include-missing", f"it cannot be found: {error}", found=uri[:200])
            return None
        if path.resolve() in self._path:
            text = f"it includes itself: {' -> '.join(x.name for x in self._path)} -> {path.name}"
            asked.error("include-cycle", text, found=uri)
            return None
        if len(self._documents) > MOST_INCLUDES or len(self._path) > DEEPEST:
            if len(self._documents) <= MOST_INCLUDES + 1:
                text = f"it is one of more than {MOST_INCLUDES} files, or {DEEPEST} deep"
                asked.error("too-many-includes", text, found=uri)
            return None
        try:
            document = opened(path, self._audit, asked.line)
        except DescriptionError as error:
            with_place(error, self._audit, asked.line, asked.owner)
            return None
        self._documents.append(document)
        is_world = scope.parent is None and scope.part.tag == "world"
        models = list(document.top.children("model"))
        models = models or list(document.top.children("light") if is_world else ())
        if not models:
            has = "a <world>" if list(document.top.children("world")) else "no <model>"
            text = f"it has {has}; only models, and lights of a world, are included"
            asked.error("missing-element", text, found=uri, allowed="<model>")
            return None
        self._path.append(path.resolve())
        return models[0]

    def _model(
        self, part: SdfElement, given: SdfElement, outer: Scope, merges: bool = False
    ) -> None:
        """Read a model into a scope; the parts of a model alone have no prefix.

        Args:
            part: element of the model.
            given: the include that has the pose, or the same element.
            outer: the scope around the model.
            merges: whether the parts of the model become parts of the outer scope.
        """
        if outer.depth == DEEPEST_MODEL:
            part.error("too-deep", f"the models are nested more than {DEEPEST_MODEL} deep")
            return
        name = (given.word("name") if given is not part else "") or part.name
        alone = outer.parent is None and outer.part.tag != "world"
        inside = "" if alone else outer.prefix if merges else f"{outer.prefix}{name}/"
        scope = Scope(part, inside, outer)
        origin = scope.origin
        placed = given if given is part or given.child("pose") is not None else part
        origin.pose, origin.relative_to = placed.pose(), placed.relative_to()
        if given is not part:
            origin.placement = given.word("placement_frame")
        origin.placement = origin.placement or part.attribute("placement_frame")
        origin.attached_to = part.attribute("canonical_link")
        origin.full = name
        fixed = given.flag("static", default=part.flag("static"))
        scope.is_static = outer.is_static or fixed
        scope.collides |= part.flag("self_collide")
        outer.inner.append(scope)
        if not merges:
            outer.add(name, origin)
            outer.models.setdefault(name, scope)
        self._fill(scope)
        if merges:
            for own, frame in scope.frames.items():
                if frame is not origin:
                    outer.add(own, frame)
            outer.models = scope.models | outer.models
