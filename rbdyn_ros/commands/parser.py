"""How the words of a command are read: exact names, errors of one line, help with examples."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

from rbdyn_ros.commands.common import USAGE
from rbdyn_ros.errors import did_you_mean, quote


class Parser(argparse.ArgumentParser):
    """Reads the words of `rbdyn`, or those of one of its commands.

    Options are never abbreviated: a new one would break scripts that shorten an old one. The text
    below the help is printed as it is written.
    """

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("allow_abbrev", False)
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**settings)

    def error(self, message: str) -> NoReturn:
        """Say in a line what is wrong with the words, and end with the status of that."""
        self.exit(USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")

    def demand_options(self, words: Sequence[str]) -> None:
        """End if an option is none of this command's; the nearest one is named.

        It is judged before the words are parsed: argparse would first miss what the mistyped
        option was to give, or take its value for a file.
        """
        known = [name for action in self._actions for name in action.option_strings]
        for word in words:
            name = word.partition("=")[0]
            if word == "--":
                return
            if word.startswith("--") and name not in known:
                self.error(f"there is no option {quote(name)}{did_you_mean(name, known)}")


#: Where a command adds its parser; argparse has no public name for it.
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001
