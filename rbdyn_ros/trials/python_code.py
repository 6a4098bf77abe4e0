# SPDX-License-Identifier: Apache-2.0
"""The user's functions in Python files: policies, traced laws, measures.

A trial contains the text of the file, so that other processes run the same code. The code is
trusted: it runs with all rights of the user.
"""

import importlib.util
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, listing, quote

_loaded: dict[tuple[str, str], dict[str, Any]] = {}


@dataclass(frozen=True)
class PythonCode:
    """A function in a Python file.

    Attributes:
        path: path of the file; its folder is on sys.path while the code runs.
        name: name of the function.
        text: the content of the file.
    """

    path: str
    name: str
    text: str

    def load(self) -> Callable[..., Any]:
        """Return the function. The file is run once in each process.

        Raises:
            ParameterError: the file raises an error, or lacks the function.
        """
        key = self.path, self.text
        if key not in _loaded:
            _loaded[key] = self._run()
        names = _loaded[key]
        found: Any = names.get(self.name)
        if callable(found):
            function: Callable[..., Any] = found
            return function
        known = [name for name, value in names.items() if callable(value) and name[0] != "_"]
        what = "is not a function" if self.name in names else "is not in it"
        hint = did_you_mean(self.name, known)
        text = f"{quote(self.path, 200)}: {quote(self.name)} {what}{hint}; it has {listing(known)}"
        raise ParameterError(Finding("no-function", text, "error", self.name))

    def _run(self) -> dict[str, Any]:
        folder = str(Path(self.path).parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        # the module has a unique name, so that its classes can be pickled and its file is found
        name = f"rbdyn_trial_{Path(self.path).stem}"
        spec = importlib.util.spec_from_loader(name, None, origin=self.path)
        module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        module.__file__ = self.path
        sys.modules[name] = module
        try:
            exec(compile(self.text, self.path, "exec"), vars(module))  # noqa: S102 - trusted
        except (Exception, SystemExit) as error:
            text = f"{quote(self.path, 200)} cannot be run: {blamed(error, self.path)}"
            raise ParameterError(Finding("broken-code", text, "error", self.name)) from error
        return vars(module)


def blamed(error: BaseException, path: str) -> str:
    """Return an error as a sentence, with the last line of the user's file in its traceback."""
    frames = [x for x in traceback.extract_tb(error.__traceback__) if x.filename == path]
    line = frames[-1].lineno if frames else None  # a SyntaxError already names the line
    where = f" ({Path(path).name}, line {line})" if line else ""
    message = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}{': ' if message else ''}{message}{where}"
