# SPDX-License-Identifier: Apache-2.0
"""Check names from outside: whether they are known and unique; and kinds of paths."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from rbdyn_ros.errors import (
    Finding,
    ParameterError,
    RbdynError,
    did_you_mean,
    not_allowed,
    quote,
    shown,
)

#: Largest number of known names that a message lists.
MOST_LISTED = 20


def name_faults(
    names: Sequence[object],
    known: Collection[str],
    what: str,
    why_not: Callable[[str], str] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield each refused name with the reason.

    A name is refused if it is unknown, named twice, or refused by `why_not`.

    Args:
        names: names from outside, of any type.
        known: all names that exist.
        what: kind of thing that is named, such as "joint".
        why_not: function that returns the reason to refuse a known name, such as "has no
            actuator", or "" to accept it; None: all known names are accepted.
    """
    seen: set[object] = set()
    for name in names:
        if not isinstance(name, str):
            yield str(name), f"the name of a {what} must be a string, got {shown(name)}"
        elif name not in known:
            yield name, f"there is no {what} {quote(name)}{did_you_mean(name, known)}"
        elif name in seen:
            yield name, f"{what} {quote(name)} is named twice"
        elif why_not is not None and (reason := why_not(name)):
            yield name, f"{what} {quote(name)} {reason}"
        if isinstance(name, str):
            seen.add(name)


def chosen(
    names: object,
    known: Collection[str],
    what: str,
    why_not: Callable[[str], str] | None = None,
    error: type[RbdynError] = ParameterError,
    code: str = "bad-argument",
    *,
    element: str | None = None,
    prefix: str = "",
) -> tuple[str, ...]:
    """Return a list of names as a tuple, if all are known and none is named twice.

    Args:
        names: the list of strings from outside.
        known: all names that exist.
        what: kind of thing that is named, such as "joint".
        why_not: function that returns the reason to refuse a known name, or "" to accept it; None:
            all known names are accepted.
        error: class of the error.
        code: code of the finding.
        element: element of the finding; None: the refused name.
        prefix: beginning of the message, such as "outputs: "; empty: no beginning.

    Raises:
        RbdynError: it has the class `error`, and is about the first refused name.
    """
    if isinstance(names, str | bytes) or not isinstance(names, Sequence):
        message = f"{prefix}expected a list of names of {what}s, got {shown(names)}"
        raise error(Finding(code, message, "error", element or "", None, shown(names)))
    for name, reason in name_faults(names, known, what, why_not):
        where = name if element is None else element
        raise error(Finding(code, f"{prefix}{reason}", "error", where, None, name))
    return tuple(names)


def strings(name: str, value: object) -> tuple[str, ...]:
    """Return a list of strings as a tuple; a single string is refused.

    Args:
        name: name of the value in messages, such as "head".
        value: the value from outside.

    Raises:
        ParameterError: the value is not a list of strings.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise not_allowed(name, value, "a list of strings", name)
    found = tuple(value)
    for each in found:
        if not isinstance(each, str):
            raise not_allowed(name, each, "a list of strings", name)
    return found


def one_of(
    name: str,
    value: object,
    known: Collection[str],
    error: type[RbdynError] = ParameterError,
    code: str = "bad-argument",
    *,
    element: str | None = None,
) -> str:
    """Return the value if it is one of the known strings.

    Args:
        name: name of the value in messages, such as "integrator".
        value: the value from outside.
        known: the allowed strings.
        error: class of the error.
        code: code of the finding.
        element: element of the finding; None: the name.

    Raises:
        RbdynError: the value is anything else; the error has the class `error`.
    """
    if isinstance(value, str) and value in known:
        return value
    hint = did_you_mean(value, known) if isinstance(value, str) else ""
    found = quote(value) if isinstance(value, str) else shown(value)
    listed = list(known)[:MOST_LISTED]
    allowed = f"one of {', '.join(listed)}{', ...' if len(known) > len(listed) else ''}"
    message = f"{name} is {found}{hint}; allowed is {allowed}"
    where = name if element is None else element
    raise error(Finding(code, message, "error", where, None, found, allowed))


def free_name(wanted: str, taken: Collection[str]) -> str:
    """Return the wanted name, with underscores appended until it is not in `taken`."""
    while wanted in taken:
        wanted += "_"
    return wanted


def kind_of(path: Path) -> str:
    """Return "file" or "folder"; "": the path is neither, or cannot be read."""
    try:
        return "file" if path.is_file() else "folder" if path.is_dir() else ""
    except (OSError, ValueError):  # the name is too long or has a NUL, or access is denied
        return ""
