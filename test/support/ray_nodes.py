# SPDX-License-Identifier: Apache-2.0
"""Start a cluster of Ray whose nodes are processes on this machine."""

import socket
import threading
from contextlib import contextmanager

import pytest


@pytest.fixture
def cluster():
    """Yield a cluster with one node; cluster.add_node adds further nodes."""
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    yield made
    ray.shutdown()
    made.shutdown()


@contextmanager
def silent_server():
    """Yield the address of a server that greets like a mail server, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet():
            channel, _ = server.accept()
            channel.sendall(b"220 mail.example.org ready\r\n")
            channel.recv(1)
            channel.close()

        threading.Thread(target=greet, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
