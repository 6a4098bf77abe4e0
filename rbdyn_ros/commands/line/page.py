# SPDX-License-Identifier: Apache-2.0
"""Serve a web page of a command until Ctrl-C, and add the options for it."""

import argparse
import sys
import threading
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING

from rbdyn_ros.commands.line.common import DONE, REFUSED, USAGE, flag, refusing, report_error
from rbdyn_ros.errors import RbdynError

if TYPE_CHECKING:
    import viser


def port(text: str) -> int:
    """Return the TCP port in an argument; raise ArgumentTypeError if it is not one."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 5 else -1
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"it is '{text[:20]}', allowed are 0 to 65535")
    return number


def add_page(command: argparse.ArgumentParser) -> None:
    """Add the options for the address of a page."""
    text = "TCP port of the page (8080); the next free one if it is taken"
    command.add_argument("--port", type=port, default=8080, help=text)
    command.add_argument(
        "--address",
        default="127.0.0.1",
        help="network address to serve on (127.0.0.1: this machine only); with 0.0.0.0 everybody "
        "who can reach this machine can use the view",
    )
    flag(command, "--open", "open the page in a browser")


def serve_page(
    name: str, options: argparse.Namespace, label: str, fill: "Callable[[viser.ViserServer], None]"
) -> int:
    """Serve a page until Ctrl-C ends the process; if it cannot be served, return the exit status.

    Args:
        name: name of the command.
        options: options of add_page.
        label: title of the panel.
        fill: adds the contents to the page.
    """
    from rbdyn_ros.commands.line.interrupts import end_at_once
    from rbdyn_ros.view.web.server import address_of, is_local, open_server

    with refusing(name, USAGE):
        server = open_server(options.port, options.address, label)
    try:
        fill(server)
    except RbdynError as error:
        server.stop()
        return report_error(name, error, REFUSED)
    if not is_local(options.address):
        warn(name, f"everybody who reaches {options.address} can use this view")
    end_at_once(DONE)  # no file is open, so nothing is lost
    address = address_of(server)
    print(f"rbdyn {name}: {address}  (Ctrl-C ends)", flush=True)
    if options.open and not webbrowser.open(address):
        warn(name, "no browser could be opened")
    threading.Event().wait()
    return DONE


def warn(name: str, what: object) -> None:
    """Print a warning of a command."""
    print(f"rbdyn {name}: warning: {what}", file=sys.stderr)
