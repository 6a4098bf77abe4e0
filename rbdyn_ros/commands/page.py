"""A page that a command serves to browsers until Ctrl-C: its options, its server, its one line."""

from __future__ import annotations

import argparse
import sys
import threading
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING

from rbdyn_ros.commands.common import DONE, REFUSED, USAGE, said

if TYPE_CHECKING:
    import viser


def port(text: str) -> int:
    """Return a port of TCP, for argparse."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 5 else -1
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"it is '{text[:20]}', allowed are 0 to 65535")
    return number


def add_page(command: argparse.ArgumentParser) -> None:
    """Add the options that say where a page is."""
    command.add_argument(
        "--port",
        type=port,
        default=8080,
        help="where the browser finds it (8080); if it is taken the next that is free",
    )
    command.add_argument(
        "--address",
        default="127.0.0.1",
        help="of this machine, for browsers elsewhere (127.0.0.1: for this machine alone); "
        "0.0.0.0 is all of them, and everybody who reaches it can use the view",
    )
    command.add_argument(
        "--open", action="store_true", help="open it in the browser of this machine"
    )


def serve_page(
    name: str,
    options: argparse.Namespace,
    label: str,
    fill: Callable[[viser.ViserServer], None],
) -> int:
    """Serve a page until Ctrl-C; return the exit status if it cannot be served.

    Args:
        name: of the command.
        options: with those of add_page.
        label: title of the panel.
        fill: puts everything into the page.
    """
    from rbdyn_ros.commands.interrupts import end_at_once
    from rbdyn_ros.errors import ParameterError, RbdynError
    from rbdyn_ros.view.web.server import address_of, is_local, open_server

    try:
        server = open_server(options.port, options.address, label)
    except ParameterError as error:
        return said(name, error, USAGE)
    try:
        fill(server)
    except RbdynError as error:
        server.stop()
        return said(name, error, REFUSED)
    if not is_local(options.address):
        warn(name, f"everybody who reaches {options.address} can use this view")
    end_at_once(DONE)  # nothing is open that would have to be closed
    address = address_of(server)
    print(f"rbdyn {name}: {address}  (Ctrl-C ends)", flush=True)
    if options.open and not webbrowser.open(address):
        warn(name, "no browser of this machine could be opened")
    threading.Event().wait()
    return DONE


def warn(name: str, what: object) -> None:
    """Print a warning of a command."""
    print(f"rbdyn {name}: warning: {what}", file=sys.stderr)
