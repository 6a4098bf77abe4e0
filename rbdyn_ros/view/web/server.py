# SPDX-License-Identifier: Apache-2.0
"""Start the web server of a view, and decide which pages may connect."""

import contextlib
import errno
import gzip
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

#: Number of successive ports to try, beginning with the requested port.
PORTS_TRIED = 20

#: HTML that sets the background of the scene on light and dark pages, which follow the system's
#: setting. It also closes the panel at first on a narrow screen, so that the robot is visible.
HEAD = b"""<style>
canvas[data-engine] { background: #e8edf3 }
@media (prefers-color-scheme: dark) { canvas[data-engine] { background: #22272e } }
</style><script>
const dark = matchMedia("(prefers-color-scheme: dark)"), root = document.documentElement;
const follow = () => {
  const wanted = dark.matches ? "dark" : "light";
  if (root.dataset.mantineColorScheme !== wanted) root.dataset.mantineColorScheme = wanted;
};
new MutationObserver(follow).observe(root, {attributes: true});
dark.addEventListener("change", follow);
let closed = null;
new MutationObserver(() => {
  if (innerWidth > 576) return;  // a phone reports its width only after this script has begun
  const handle = document.querySelector('[style*="cursor: pointer"][style*="height: 3.5em"]');
  if (handle && handle !== closed) { closed = handle; handle.click(); }
}).observe(root, {childList: true, subtree: true});
</script>"""

#: Width of the panel [pixels].
PANEL_WIDTH = 380

_TAKEN = (errno.EADDRINUSE, errno.EACCES)
_one_at_a_time = threading.Lock()


def open_server(
    port: int = PORT, address: str = ADDRESS, label: str = "rbdyn", frames: str = "'none'"
) -> "viser.ViserServer":
    """Start serving an empty view.

    Pages of other origins and foreign host names are refused, because a page of the internet must
    not move a robot, even if it uses a name that resolves to this machine. Viser's function that
    publishes a view on the internet is disabled.

    Args:
        port: TCP port; if it is in use, the next free one of PORTS_TRIED ports. 0: any free port.
        address: numeric address of this machine; 0.0.0.0 or ::: all its addresses.
        label: title of the panel.
        frames: pages that may show the view in a frame, as in a Content-Security-Policy.

    Raises:
        ParameterError: the port or address is refused, no port is free, or viser is missing.
    """
    host = _check_address(address)
    free = _free_port(_check_port(port), host)
    try:
        import viser
    except ImportError as error:
        text = 'the view needs viser, which is not installed: pip install "rbdyn_ros[view]"'
        raise ParameterError(Finding("no-view-extra", text, allowed="viser")) from error
    _silence()
    with _one_at_a_time, _guarded(frames) as guard:
        server = viser.ViserServer(host, free, label, verbose=False)
    if not guard.used:
        server.stop()
        text = "this version of viser cannot be protected from foreign pages; use viser 1.1"
        raise ParameterError(Finding("wrong-viser", text, allowed="viser 1.1"))
    _never_publish(server)
    server.gui.configure_theme(show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(PANEL_WIDTH)
    return server


def address_of(server: "viser.ViserServer") -> str:
    """Return the URL for a browser on this machine, such as http://127.0.0.1:8080."""
    host = server.get_host()
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return (
        f"http://[{host}]:{server.get_port()}"
        if ":" in host
        else (f"http://{host}:{server.get_port()}")
    )


def is_local(address: str) -> bool:
    """Return whether only this machine can reach a server at this numeric address."""
    return ipaddress.ip_address(_check_address(address)).is_loopback


def refusal(host: str | None, origin: str | None, path: str = "/") -> str:
    """Return the reason to refuse the connection of a browser, or "" to accept it.

    A page may connect if this server has sent it; then its origin is the requested host. The host
    must be numeric or the name of this machine, because a page of the internet could make any
    other name resolve to this machine (DNS rebinding). A query string is refused, because it can
    make viser's page connect to another server.

    Args:
        host: Host header, perhaps with a port; None: the header is missing.
        origin: Origin header; None: the header is missing, so the client is not a browser.
        path: path of the request.
    """
    if host is None or not _is_ours(host):
        return f"'{host}' is not an address of this view; use a number such as 127.0.0.1"
    if "?" in path:
        return "this view accepts no query after its address"
    if origin is None:
        return ""
    with contextlib.suppress(ValueError):  # the origin is invalid
        parts = urlsplit(origin)
        if parts.scheme in {"http", "https"} and parts.netloc.lower() == host.lower():
            return ""
    return f"pages of '{origin}' may not use this view, only its own page"


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
    """Replaces `serve` of websockets; checks each request before viser gets the request."""

    def __init__(self, serve: Callable[..., Any], frames: str) -> None:
        self.serve, self.frames, self.used = serve, frames, False

    def __call__(self, *args: Any, process_request: Callable[..., Any], **more: Any) -> Any:
        self.used = True

        def check(connection: Any, request: Any) -> Any:
            hosts = request.headers.get_all("Host")
            origins = request.headers.get_all("Origin")
            if len(hosts) > 1 or len(origins) > 1:
                return connection.respond(HTTPStatus.BAD_REQUEST, "two Host or Origin headers\n")
            host, origin = (found[0] if found else None for found in (hosts, origins))
            reason = refusal(host, origin, request.path)
            if reason:
                return connection.respond(HTTPStatus.FORBIDDEN, f"{reason}\n")
            response = process_request(connection, request)
            if response is not None:
                # only known pages may show the view in a frame; the view may use no other server
                talks = f"connect-src 'self' ws://{host} data: blob:"
                policy = f"frame-ancestors {self.frames}; {talks}"
                response.headers["Content-Security-Policy"] = policy
                _add_head(response)
            return response

        return self.serve(*args, process_request=check, **more)


def _add_head(response: Any) -> None:
    """Add HEAD to the response if it is a page of viser."""
    packed = response.headers.get("Content-Encoding") == "gzip"
    body = gzip.decompress(response.body) if packed else response.body
    if b"<head>" in body[:1000]:
        body = body.replace(b"<head>", b"<head>" + HEAD, 1)
        response.body = gzip.compress(body, 1) if packed else body
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(response.body))


@contextlib.contextmanager
def _guarded(frames: str) -> Iterator[_Guard]:
    """Replace `serve` of websockets in a block, in which viser starts a server."""
    import websockets.asyncio.server as module

    guard = _Guard(module.serve, frames)
    module.serve = guard  # type: ignore[misc, assignment]
    try:
        yield guard
    finally:
        module.serve = guard.serve  # type: ignore[misc, assignment]


def _never_publish(server: "viser.ViserServer") -> None:
    """Remove the request with which a browser could publish the view on the internet."""
    from viser import _messages

    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(message)  # noqa: SLF001 - there is no other way


def _silence() -> None:
    """Keep viser from printing; other programs can still print through rich."""
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


def _check_port(port: object) -> int:
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        text = f"the port of the view is {port!r}; allowed is a whole number from 0 to 65535"
        raise ParameterError(Finding("bad-port", text, "error", "port", None, repr(port)))
    return port


def _check_address(address: object) -> str:
    wanted = ADDRESS if address == "localhost" else address
    if isinstance(wanted, str):
        with contextlib.suppress(ValueError):
            return str(ipaddress.ip_address(wanted))
    text = (
        f"the address of the view is {address!r}; allowed is a numeric address of this machine: "
        "127.0.0.1 for itself only, 0.0.0.0 for everybody who can reach it"
    )
    raise ParameterError(Finding("bad-address", text, "error", "address", None, repr(address)))


def _free_port(port: int, host: str) -> int:
    """Return the first free port from `port` on, or 0 for 0; raise ParameterError if none is."""
    last = min(port + PORTS_TRIED - 1, 65535) if port else 0
    for candidate in range(port, last + 1):
        error = _cannot_bind(candidate, host)
        if error is None:
            return candidate
        if error.errno not in _TAKEN:
            text = f"the view cannot listen on {host}: {error.strerror}"
            raise ParameterError(Finding("bad-address", text, "error", "address", None, host))
    text = f"the view finds no free port: {port} to {last} are in use on {host}"
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
