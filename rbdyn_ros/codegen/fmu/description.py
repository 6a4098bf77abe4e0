# SPDX-License-Identifier: Apache-2.0
"""Write modelDescription.xml: the variables of a robot in FMI 2.0 or 3.0."""

import hashlib
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from rbdyn_ros.codegen.names import shown, unique
from rbdyn_ros.codegen.project import CProject
from rbdyn_ros.model.model import Model


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the FMU; its reference is its index in the list.

    Attributes:
        name: such as q.elbow.
        causality, variability: see the FMI standard.
        about: meaning and unit.
        start: value at the start; None: no value.
    """

    name: str
    causality: str
    variability: str
    about: str
    start: float | None = None


def variables(m: Model) -> list[Variable]:
    """Return an FMU's variables: time, torques, positions, velocities, then the start state."""
    places, dofs = _places(m, m.nq, m.jnt_qposadr), _places(m, m.nv, m.jnt_dofadr)
    time = Variable("time", "independent", "continuous", "simulated time [s]")
    found = [time]
    found += [
        Variable(f"tau.{name}", "input", "continuous", "force [N m or N]", 0.0) for name in dofs
    ]
    found += [Variable(f"q.{name}", "output", "continuous", "position") for name in places]
    found += [Variable(f"v.{name}", "output", "continuous", "velocity") for name in dofs]
    for letter, names, values in (("q", places, m.qpos0), ("v", dofs, [0.0] * m.nv)):
        found += [
            Variable(f"start.{letter}.{name}", "parameter", "fixed", "at the start", float(x))
            for name, x in zip(names, values, strict=True)
        ]
    return found


def _places(m: Model, count: int, addresses: object) -> list[str]:
    """Return a name for each entry of q or v: the joint's, with an index if it has several."""
    owners = [""] * count
    for j, name in enumerate(unique(m.jnt_names)):
        if m.jnt_mimic[j] < 0 and m.jnt_dofnum[j] > 0:
            owners[int(addresses[j])] = name  # type: ignore[index]
    groups: list[list[str]] = []
    for owner in owners:
        if owner:
            groups.append([owner])
        else:
            groups[-1].append(groups[-1][0])
    return [
        f"{name}[{k + 1}]" if len(group) > 1 else name
        for group in groups
        for k, name in enumerate(group)
    ]


def token(texts: Mapping[str, str], version: str) -> str:
    """Return the identity of an FMU: a hash of the version, and names and texts of sources."""
    whole = hashlib.sha256(repr((version, sorted(texts.items()))).encode()).hexdigest()
    return f"{{{uuid.uuid5(uuid.NAMESPACE_URL, whole)}}}"


def description(project: CProject, version: str, identity: str) -> str:
    """Return the text of modelDescription.xml; `identity` is the token of the sources."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', *_head(project, version, identity)]
    found = variables(project.m)
    lines.append("  <ModelVariables>")
    for number, variable in enumerate(found):
        lines += _variable(variable, number, version)
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    outputs = [k for k, variable in enumerate(found) if variable.causality == "output"]
    lines += _structure(outputs, version)
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def _head(project: CProject, version: str, identity: str) -> Iterator[str]:
    key = "guid" if version == "2.0" else "instantiationToken"
    step = shown(project.m.opt.timestep)
    yield f'<fmiModelDescription fmiVersion="{version}" modelName={quoteattr(project.m.name)}'
    yield f'    {key}="{identity}" generationTool="rbdyn_ros"'
    yield '    variableNamingConvention="structured">'
    yield f'  <CoSimulation modelIdentifier="{project.prefix}"'
    yield '    canHandleVariableCommunicationStepSize="true"'
    if version == "2.0":
        yield '    canGetAndSetFMUstate="true">'
        yield "    <SourceFiles>"
        files = project.files.source, f"{project.prefix}_fmu.c"
        yield from (f'      <File name="{name}"/>' for name in files)
        yield "    </SourceFiles>"
        yield "  </CoSimulation>"
    else:
        yield f'    canGetAndSetFMUState="true" fixedInternalStepSize="{step}"/>'
    yield f'  <DefaultExperiment startTime="0" stopTime="1" stepSize="{step}"/>'


def _variable(variable: Variable, number: int, version: str) -> Iterator[str]:
    fields = {
        "name": variable.name,
        "valueReference": str(number),
        "causality": variable.causality,
        "variability": variable.variability,
        "description": variable.about,
    }
    start = {} if variable.start is None else {"start": repr(variable.start)}
    if version == "3.0":
        yield f"    <Float64{_attributes(fields | start)}/>"
        return
    yield f"    <ScalarVariable{_attributes(fields)}>"
    yield f"      <Real{_attributes(start)}/>"
    yield "    </ScalarVariable>"


def _attributes(fields: dict[str, str]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in fields.items())


def _structure(outputs: list[int], version: str) -> Iterator[str]:
    if version == "3.0":
        for kind in ("Output", "InitialUnknown"):
            yield from (f'    <{kind} valueReference="{k}"/>' for k in outputs)
        return
    for kind in ("Outputs", "InitialUnknowns"):
        yield f"    <{kind}>"
        yield from (f'      <Unknown index="{k + 1}"/>' for k in outputs)
        yield f"    </{kind}>"
