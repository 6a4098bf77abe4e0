# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn completion`: print a script for tab completion in a shell."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.parser import Commands, Parser

SHELLS = ("bash", "zsh", "tcsh")
EPILOG = """\
Install it permanently:
  rbdyn completion bash > ~/.local/share/bash-completion/completions/rbdyn
  rbdyn completion zsh > ~/.zfunc/_rbdyn            with fpath+=~/.zfunc before compinit in .zshrc
  rbdyn completion tcsh > ~/.rbdyn.completion       with `source ~/.rbdyn.completion` in .tcshrc
Or for the current shell:
  eval "$(rbdyn completion bash)"

Exit status: 0, or 2 if shtab, which writes the script, is not installed."""


def add_completion(commands: Commands) -> None:
    command = commands.add_parser(
        "completion", help="print a script for tab completion in a shell", epilog=EPILOG
    )
    command.add_argument("shell", choices=SHELLS, help="the shell")
    command.set_defaults(run=_completion)


def _completion(options: argparse.Namespace) -> int:
    try:
        print(script(options.root, options.shell))
    except ModuleNotFoundError as error:
        if error.name != "shtab":
            raise
        text = "the script needs shtab, which is not installed: pip install shtab"
        return common.report_error("completion", text, common.USAGE)
    return common.DONE


def script(parser: Parser, shell: str) -> str:
    """Return the script for a shell that completes all commands of a parser."""
    import shtab

    for action in _actions(parser):
        if action.type is common.folder_path:
            _complete(action, shtab.DIRECTORY)
        elif isinstance(action.type, common.FileOf):
            _complete(action, shtab.glob(*(f"*{suffix}" for suffix in action.type.suffixes)))
        elif action.type in (Path, common.file_path):
            _complete(action, shtab.FILE)
    return str(shtab.complete(parser, shell))


def _complete(action: Any, how: Any) -> None:
    action.complete = how  # shtab reads this attribute


def _actions(parser: Any) -> Iterator[argparse.Action]:
    """Yield all arguments of a parser and of its subcommands."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for command in action.choices.values():
                yield from _actions(command)
