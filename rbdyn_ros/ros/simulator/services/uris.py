# SPDX-License-Identifier: Apache-2.0
"""Find a file that a request names by a path, ``file:///path`` or ``package://name/path``."""

import re
from pathlib import Path
from urllib.parse import unquote

from rbdyn_ros.description.reading.packages import find_package
from rbdyn_ros.errors import quote
from rbdyn_ros.ros.simulator.services.results import NOT_FOUND, ResultError

#: Groups: the scheme of a URI, and the rest of the URI.
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)


def path_of(uri: str, result: int = NOT_FOUND) -> Path:
    """Return the path that a URI names.

    Args:
        uri: URI of a request.
        result: result code of a refusal.

    Raises:
        ResultError: the scheme is not supported, or there is no such package.
    """
    found = _URI.fullmatch(uri)
    if found is None:
        return Path(unquote(uri))
    scheme, place = found[1].lower(), found[2]
    if scheme == "file":
        return Path(unquote(re.sub(r"^localhost(?=/)", "", place)))
    if scheme != "package":
        text = (
            f"the URI {quote(uri, 200)} has the scheme {quote(found[1])}; allowed are a path, "
            "file:///path and package://name/path"
        )
        raise ResultError(result, text)
    package, _, rest = place.partition("/")
    folder = find_package(package)
    if folder is None:
        text = f"the package {quote(package)} is not found; source its ROS workspace"
        raise ResultError(result, text)
    return folder / unquote(rest)
