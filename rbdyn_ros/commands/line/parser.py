# SPDX-License-Identifier: Apache-2.0
"""Parse arguments: exact names of options, errors of one line, help with examples."""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

from rbdyn_ros.commands.line.common import USAGE
from rbdyn_ros.errors import did_you_mean, listing, quote

#: Matches an argument of xacro on a command line; options begin with a dash.
_XACRO = re.compile(r"(?!-)[^=]*:=")


class Parser(argparse.ArgumentParser):
    """Parses the arguments of `rbdyn` or of one of its commands.

    Options cannot be abbreviated, because a new option would break scripts that shorten an old
    option. The epilog is printed as it is written.
    """

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("allow_abbrev", False)
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**settings)

    def error(self, message: str) -> NoReturn:
        """Print a one-line error and exit with status 2."""
        self.exit(USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is not among the choices; unlike argparse, suggest a similar one."""
        choices = list(action.choices or ())
        if choices and value not in choices:
            nearest = did_you_mean(str(value), map(str, choices))
            text = f"{quote(str(value))} is not allowed{nearest}; allowed are {listing(choices)}"
            raise argparse.ArgumentError(action, text)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse the arguments; return the options and the arguments that are left.

        Arguments of xacro (name:=value) can stand anywhere after a command. If the default
        `words_anywhere` is set, other words can stand anywhere too.
        """
        words = list(sys.argv[1:] if args is None else args)
        takes = self.get_default("xacro_args") is not None
        given = [word for word in words if takes and _XACRO.match(word)]
        options, more = super().parse_known_args([x for x in words if x not in given], namespace)
        if takes:
            options.xacro_args = given
        if self.get_default("words_anywhere"):  # argparse accepts words only in one block
            options.words = [*options.words, *(x for x in more if not x.startswith("-"))]
            more = [x for x in more if x.startswith("-")]
        advice = self.get_default("one_robot")
        if advice is not None and more and not more[0].startswith("-"):
            self.error(
                f"{quote(more[0])} is neither an option nor name:=value, and a robot is given "
                f"already: {advice}"
            )
        if more:  # argparse would report this error for `rbdyn`, without the command's name
            what = (
                "there is no option"
                if more[0].startswith("-")
                else "there is one argument too many:"
            )
            self.error(f"{what} {quote(more[0])}")
        return options, more

    def check_options(self, words: Sequence[str]) -> None:
        """Exit if an option is unknown; the error suggests a similar option.

        Call it before parsing, because argparse would first report a missing argument, or take the
        value of the mistyped option for a file.
        """
        known = [name for action in self._actions for name in action.option_strings]
        for word in words:
            name = word.partition("=")[0]
            if word == "--":
                return
            if word.startswith("--") and name not in known:
                self.error(f"there is no option {quote(name)}{did_you_mean(name, known)}")


#: The subcommands of a parser; argparse has no public name for the type.
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001
