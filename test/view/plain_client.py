# SPDX-License-Identifier: Apache-2.0
"""A client of a view that sends and receives messages like a browser, but does not draw."""

import contextlib
import socket
import threading

from web_page import wait_until

UP = (0.0, 0.0, 1.0)
CAMERA = {
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    **dict.fromkeys(("position", "look_at", "up_direction"), UP),
    "fov": 0.8,
    "near": 0.01,
    "far": 100.0,
    "image_height": 300,
    "image_width": 400,
}


class PlainClient:
    """A client that is connected to a server of this process inside a `with` block.

    Attributes:
        number: number by which the server knows the client.
    """

    def __init__(self, server):
        import viser
        from websockets.sync.client import connect

        known = set(server.get_clients())
        address = f"ws://{server.get_host()}:{server.get_port()}"
        version = f"viser-v{viser.__version__}"
        self._pipe = connect(address, subprotocols=[version], max_size=None, compression=None)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.say("ViewerCameraMessage", **CAMERA)
        new = wait_until(lambda: set(server.get_clients()) - known, "a client to be known")
        (self.number,) = new

    def _read(self):
        from websockets.exceptions import ConnectionClosed

        with contextlib.suppress(OSError, ConnectionClosed):  # `vanish` has closed the connection
            for _ in self._pipe:
                pass

    def say(self, kind, **fields):
        """Send a message of a kind with these fields."""
        import msgspec

        self._pipe.send(msgspec.msgpack.encode({"type": kind, **fields}))

    def set_value(self, handle, value):
        """Set the value of a control of the panel, such as a slider."""
        self.say("GuiUpdateMessage", uuid=handle._impl.uuid, updates={"value": value})

    def drag_node(self, name, phase, start, end, modifier=None):
        """Send one phase of a drag of a scene's node from one point to another."""
        start, end = tuple(map(float, start)), tuple(map(float, end))
        places = {"start_position": start, "end_position": end}
        screen = dict.fromkeys(("start_screen_pos", "end_screen_pos"), (0.5, 0.5))
        node = {"name": name, "instance_index": None, "button": "left", "modifier": modifier}
        self.say("SceneNodeDragMessage", phase=phase, **node, **places, **screen)

    def vanish(self):
        """Close the connection without a closing message."""
        self._pipe.socket.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._pipe.close()
        self._reader.join()
