"""The server of a view: where it listens, and whose pages may talk to it."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rbdyn_ros.errors import Finding, ParameterError

if TYPE_CHECKING:
    import viser

PORT, ADDRESS = 8080, "127.0.0.1"

#: Ports that are tried, the wanted one first.
PORTS_TRIED = 20

#: Of the panel [pixel].
PANEL_WIDTH = 380

_TAKEN = (errno.EADDRINUSE, errno.EACCES)
_one_at_a_time = threading.Lock()


def open_server(
    port: int = PORT, address: str = ADDRESS, label: str = "rbdyn"
) -> viser.ViserServer:
    """Start serving an empty view.

    Pages of other origins are refused, and names that are not ours (a page of the internet must
    not move a robot, nor by a name that it lets point to this machine). Viser's way to
    publish a view on the internet is shut.

    Args:
        port: where to listen; the next free one of PORTS_TRIED is taken instead if it is in use,
            and any free one for 0.
        address: of this machine, as numbers; 0.0.0.0 or :: are all of them.
        label: title of the panel.

    Raises:
        ParameterError: there is no such port or address, none is free, or viser is missing.
    """
    host = _demand_address(address)
    free = _free_port(_demand_port(port), host)
    try:
        import viser
    except ImportError as error:
        text = 'the view needs viser, which is not installed: pip install "rbdyn_ros[view]"'
        raise ParameterError(Finding("no-view-extra", text, allowed="viser")) from error
    _silence()
    with _one_at_a_time, _guarded() as guard:
        server = viser.ViserServer(host, free, label, verbose=False)
    if not guard.used:
        server.stop()
        text = "this version of viser cannot be kept from foreign pages; use viser 1.1"
        raise ParameterError(Finding("wrong-viser", text, allowed="viser 1.1"))
    _never_publish(server)
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(PANEL_WIDTH)
    return server


def address_of(server: viser.ViserServer) -> str:
    """Return what a browser on this machine is to open, for example http://127.0.0.1:8080."""
    host = server.get_host()
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - it is compared, not listened at
        host = "127.0.0.1"
    return (
        f"http://[{host}]:{server.get_port()}"
        if ":" in host
        else (f"http://{host}:{server.get_port()}")
    )


def is_local(address: str) -> bool:
    """Whether only this machine reaches an address that open_server takes."""
    return ipaddress.ip_address(_demand_address(address)).is_loopback


def refusal(host: str | None, origin: str | None, path: str = "/") -> str:
    """Return why a connection of a browser is refused, a sentence; empty: it is not.

    A page may talk to us if it came from us: its origin is the host that was asked for. The host
    has to be a number or this machine's own name: any other name may be one that a page of the
    internet lets point here. Words after the address are refused: by them viser's page can be
    told to obey another server.

    Args:
        host: the Host header, with the port if there is one.
        origin: the Origin header; programs other than browsers send none.
        path: that is asked for.
    """
    if host is None or not _is_ours(host):
        return f"this view is not called '{host}'; open it by a number, such as 127.0.0.1"
    if "?" in path:
        return "this view takes no words after its address"
    if origin is None:
        return ""
    with contextlib.suppress(ValueError):  # of an origin that is none
        parts = urlsplit(origin)
        if parts.scheme in {"http", "https"} and parts.netloc.lower() == host.lower():
            return ""
    return f"pages of '{origin}' may not use this view, only its own"


def _is_ours(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name)
        return True
    own = socket.gethostname().lower()
    return name in {"localhost", own, f"{own}.local"}


class _Guard:
    """Stands for websockets' `serve`, and judges each request before viser sees it."""

    def __init__(self, serve: Callable[..., Any]) -> None:
        self.serve, self.used = serve, False

    def __call__(self, *args: Any, process_request: Callable[..., Any], **more: Any) -> Any:
        self.used = True

        def judge(connection: Any, request: Any) -> Any:
            hosts = request.headers.get_all("Host")
            origins = request.headers.get_all("Origin")
            if len(hosts) > 1 or len(origins) > 1:
                return connection.respond(HTTPStatus.BAD_REQUEST, "one Host, one Origin\n")
            host, origin = (found[0] if found else None for found in (hosts, origins))
            why = refusal(host, origin, request.path)
            if why:
                return connection.respond(HTTPStatus.FORBIDDEN, f"{why}\n")
            response = process_request(connection, request)
            if response is not None:
                # neither framed by another page nor talking to another server
                talks = f"connect-src 'self' ws://{host} data: blob:"
                response.headers["Content-Security-Policy"] = f"frame-ancestors 'none'; {talks}"
            return response

        return self.serve(*args, process_request=judge, **more)


@contextlib.contextmanager
def _guarded() -> Iterator[_Guard]:
    """Let viser, while it starts a server, find our guard where it looks for `serve`."""
    import websockets.asyncio.server as module

    guard = _Guard(module.serve)
    module.serve = guard  # type: ignore[misc, assignment]
    try:
        yield guard
    finally:
        module.serve = guard.serve  # type: ignore[misc, assignment]


def _never_publish(server: viser.ViserServer) -> None:
    """Take away what a browser may ask of viser that would show the view to the internet."""
    from viser import _messages

    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(message)  # noqa: SLF001 - there is no other way


def _silence() -> None:
    """Keep viser from printing; what others print through rich goes on as before."""
    import rich

    plain = rich.print
    if getattr(plain, "is_silenced", False):
        return

    def print_unless_viser(*args: Any, **more: Any) -> None:
        caller = sys._getframe(1).f_globals.get("__name__", "")  # noqa: SLF001
        if not caller.startswith("viser."):
            plain(*args, **more)

    print_unless_viser.is_silenced = True  # type: ignore[attr-defined]
    rich.print = print_unless_viser


def _demand_port(port: object) -> int:
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        text = f"the port of the view is {port!r}; allowed is a whole number from 0 to 65535"
        raise ParameterError(Finding("bad-port", text, "error", "port", None, repr(port)))
    return port


def _demand_address(address: object) -> str:
    wanted = ADDRESS if address == "localhost" else address
    if isinstance(wanted, str):
        with contextlib.suppress(ValueError):
            return str(ipaddress.ip_address(wanted))
    text = (
        f"the address of the view is {address!r}; allowed is an address of this machine as "
        "numbers: 127.0.0.1 for itself alone, 0.0.0.0 for everybody who can reach it"
    )
    raise ParameterError(Finding("bad-address", text, "error", "address", None, repr(address)))


def _free_port(port: int, host: str) -> int:
    """Return the first free port from this one on; 0 stays 0."""
    last = min(port + PORTS_TRIED - 1, 65535) if port else 0
    for candidate in range(port, last + 1):
        error = _cannot_bind(candidate, host)
        if error is None:
            return candidate
        if error.errno not in _TAKEN:
            text = f"the view cannot listen at {host}: {error.strerror}"
            raise ParameterError(Finding("bad-address", text, "error", "address", None, host))
    text = f"the view finds no free port: {port} to {last} are taken at {host}; name another one"
    raise ParameterError(Finding("no-free-port", text, "error", "port", None, str(port)))


def _cannot_bind(port: int, host: str) -> OSError | None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            return error
    return None
