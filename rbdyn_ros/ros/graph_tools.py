# SPDX-License-Identifier: Apache-2.0
"""The commands `rbdyn topic`, `service` and `param`, through a hidden node.

They replace the command `ros2`, which ROS 2 from PyPI lacks.
"""

import importlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import rclpy
import yaml
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import get_parameter_value, parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rosidl_parser.definition import AbstractNestedType, BasicType, NamespacedType

from rbdyn_ros.errors import RbdynError, did_you_mean, listing, quote, refusal, shown
from rbdyn_ros.ros.messages.build import provide

#: Longest wait for a topic, a service, a subscriber or an answer [s].
WAIT = 10.0
#: The graph counts as complete if no topic has appeared for STABLE [s], because Fast DDS announces
#: a participant every 3 s. The search ends after LONGEST_SEARCH [s] in any case.
STABLE, LONGEST_SEARCH = 3.5, 10.0
#: Topics that every node has, including our own.
OWN = {"/parameter_events", "/rosout"}


class RosGraph:
    """A hidden node, which finds topics and services in the present ROS domain."""

    def __init__(self, context: rclpy.Context) -> None:
        self.node = Node("_rbdyn_tool", context=context, start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)

    def spin(self, seconds: float) -> None:
        """Run at most one callback of the node, or wait for this time [s]."""
        self._executor.spin_once(timeout_sec=seconds)

    def until(self, is_so: Callable[[], object], missing: Callable[[], str]) -> Any:
        """Wait until `is_so` returns a true value, and return it; after WAIT raise RbdynError.

        `missing` returns the message of this error.
        """
        end = time.monotonic() + WAIT
        while not (found := is_so()):
            if time.monotonic() > end:
                raise refusal(missing())
            self.spin(0.05)
        return found

    def topics(self) -> dict[str, str]:
        """Return the type of each topic that is known now, by name."""
        return {name: types[0] for name, types in self.node.get_topic_names_and_types()}

    def type_of(self, topic: str) -> str:
        """Return the type of a topic; wait up to WAIT for the topic, then raise RbdynError."""
        name = self.full(topic)
        found: str = self.until(
            lambda: self.topics().get(name),
            lambda: (
                f"there is no topic {quote(name)}{did_you_mean(name, self.topics())}; "
                f"`rbdyn topic list` prints the topics of ROS_DOMAIN_ID {self.domain}"
            ),
        )
        return found

    @property
    def domain(self) -> int:
        """ROS_DOMAIN_ID of the graph."""
        return int(self.node.context.get_domain_id())

    def nodes(self) -> list[str]:
        """Return the full names of all nodes except hidden nodes."""
        found = self.node.get_node_names_and_namespaces()
        return [f"{space.rstrip('/')}/{name}" for name, space in found if name[0] != "_"]

    def full(self, name: str) -> str:
        """Return the absolute name of a topic or service."""
        return name if name.startswith("/") else f"/{name}"

    def call(self, kind: type, name: str, request: Any) -> Any:
        """Call a service and return its response; raise RbdynError if it does not answer."""
        full = self.full(name)
        client: Any = self.node.create_client(kind, full)
        self.until(client.service_is_ready, lambda: self._no_service(full, kind))
        future = client.call_async(request)
        self.until(future.done, lambda: f"{name} does not answer")
        return future.result()

    def _no_service(self, name: str, kind: type) -> str:
        """Return a message why a service is not available to a client of the type `kind`."""
        known = dict(self.node.get_service_names_and_types())
        asked = f"{kind.__module__.split('.')[0]}/srv/{kind.__name__}"
        others = [each for each in known.pop(name, ()) if each != asked]
        if others:
            return f"service {quote(name)} has another type, {others[0]}"
        nodes = self.nodes()
        here = f"the nodes of ROS_DOMAIN_ID {self.domain} are {listing(nodes)}"
        return (
            f"there is no service {quote(name)}{did_you_mean(name, known)}; is its node running? "
            + (here if nodes else f"there is no node in ROS_DOMAIN_ID {self.domain}")
        )


@contextmanager
def graph() -> Iterator[RosGraph]:
    """Yield a hidden node in the ROS domain of the environment."""
    provide()
    context = rclpy.Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    try:
        yield RosGraph(context)
    finally:
        rclpy.shutdown(context=context)


def topic_list() -> None:
    """Print the topics with their types."""
    with graph() as found:
        for name, kind in sorted(_whole(found).items()):
            print(f"{name} [{kind}]")


def _whole(found: RosGraph) -> dict[str, str]:
    """Wait until no more topics appear; return the type of each topic, by name."""
    begun = grown = time.monotonic()
    known = found.topics()
    while (now := time.monotonic()) - begun < LONGEST_SEARCH:
        topics = found.topics()
        if topics != known or not set(topics) - OWN:
            known, grown = topics, now
        elif now - grown > STABLE:
            break
        found.spin(0.05)
    return known


def topic_echo(topic: str, once: bool) -> None:
    """Print the messages of a topic as YAML until Ctrl-C, or only the first message."""
    with graph() as found:
        count = _subscribe(found, topic, lambda message: print(f"{as_text(message)}---"))
        while not (once and count):
            found.spin(0.1)


def topic_hz(topic: str, once: bool) -> None:
    """Print the rate of a topic each second until Ctrl-C, or only once."""
    times: list[float] = []
    with graph() as found:
        _subscribe(found, topic, lambda _: times.append(time.monotonic()))
        found.until(lambda: times, lambda: f"no message on {quote(found.full(topic))}")
        while True:
            end = time.monotonic() + 1.0
            times[:-1] = []
            while time.monotonic() < end:
                found.spin(0.1)
            gaps = [after - before for before, after in pairwise(times)]
            if gaps:
                rate = len(gaps) / (times[-1] - times[0])
                spread = f"{min(gaps):.4f} s to {max(gaps):.4f} s"
                print(f"{rate:.1f} Hz, {spread} apart", flush=True)
            else:
                print("no message in the last second", flush=True)
            if once:
                return


def topic_pub(topic: str, kind: str, values: str, rate: float, once: bool) -> None:
    """Publish a message at a rate [Hz] until Ctrl-C, or once to the first subscriber."""
    message = filled(interface(kind, "msg")(), _yaml(values))
    with graph() as found:
        publisher = found.node.create_publisher(type(message), found.full(topic), 10)
        if once:
            found.until(
                publisher.get_subscription_count, lambda: f"there is no subscriber of {topic}"
            )
        next_time = time.monotonic()
        while True:
            publisher.publish(message)
            if once:
                publisher.wait_for_all_acked()
                return
            next_time = max(next_time + 1.0 / rate, time.monotonic())
            while (left := next_time - time.monotonic()) > 0.0:
                found.spin(left)


def service_call(name: str, kind: str, values: str) -> None:
    """Call a service and print its response as YAML."""
    service = interface(kind, "srv")
    request = filled(service.Request(), _yaml(values))
    with graph() as found:
        print(as_text(found.call(service, name, request)), end="")


def param_list(node: str) -> None:
    """Print the names of the parameters of a node."""
    with graph() as found:
        print("\n".join(_names(found, node)))


def _names(found: RosGraph, node: str) -> list[str]:
    kind = importlib.import_module("rcl_interfaces.srv").ListParameters
    return sorted(found.call(kind, f"{node}/list_parameters", kind.Request()).result.names)


def param_get(node: str, name: str) -> None:
    """Print the value of a parameter; raise RbdynError if there is none."""
    srv = importlib.import_module("rcl_interfaces.srv")
    with graph() as found:
        request = srv.GetParameters.Request(names=[name])
        values = found.call(srv.GetParameters, f"{node}/get_parameters", request).values
        if not values or values[0].type == 0:
            raise _no_parameter(found, node, name)
        print(_plain(parameter_value_to_python(values[0])))


def param_set(node: str, name: str, value: str) -> None:
    """Set a parameter; raise RbdynError with the reason of the node if it refuses."""
    srv, msg = (importlib.import_module(f"rcl_interfaces.{part}") for part in ("srv", "msg"))
    parameter = msg.Parameter(name=name, value=get_parameter_value(string_value=value))
    with graph() as found:
        request = srv.SetParameters.Request(parameters=[parameter])
        (result,) = found.call(srv.SetParameters, f"{node}/set_parameters", request).results
        if not result.successful and name not in _names(found, node):
            raise _no_parameter(found, node, name)
    if not result.successful:
        start = "; set it at the start: --ros-args -p " if "read-only" in result.reason else ""
        given = f"{name}:={value}" if start else ""
        raise refusal(f"{node} refuses {name} = {value}: {result.reason}{start}{given}")


def _no_parameter(found: RosGraph, node: str, name: str) -> RbdynError:
    hint = did_you_mean(name, _names(found, node)) or f"; `rbdyn param list {node}` prints all"
    return refusal(f"{node} has no parameter {quote(name)}{hint}")


def interface(kind: str, part: str) -> Any:
    """Return the class of a type such as sensor_msgs/msg/JointState, whose part is `msg`.

    Raises:
        RbdynError: there is no such type.
    """
    words = kind.split("/")
    package, name = words[0], words[-1]
    try:
        return getattr(importlib.import_module(f"{package}.{part}"), name)
    except (ImportError, AttributeError, ValueError):
        text = f"there is no type {quote(kind)}; give PACKAGE/{part}/NAME of a package"
        raise refusal(f"{text} that is installed") from None


def filled(message: Any, values: object) -> Any:
    """Set the fields of a message from a mapping, which may be nested; return the message.

    Raises:
        RbdynError: there is no such field, or a value does not fit.
    """
    if not isinstance(values, Mapping):
        text = f"the values of {type(message).__name__} are {shown(values)}"
        raise refusal(f'{text}; write them as "{{field: value}}"')
    slots = dict(zip(message.get_fields_and_field_types(), message.SLOT_TYPES, strict=True))
    for name, value in values.items():
        kind, known = type(message).__name__, slots
        if name not in known:
            hint = did_you_mean(str(name), known) or f"; it has {listing(list(known))}"
            raise refusal(f"{kind} has no field {quote(str(name))}{hint}")
        try:
            setattr(message, name, _value(slots[name], value, getattr(message, name)))
        except (AssertionError, TypeError, ValueError):
            allowed = message.get_fields_and_field_types()[name]
            raise refusal(f"{kind}.{name} is {shown(value)}; allowed is {allowed}") from None
    return message


def _value(slot: Any, value: Any, now: Any) -> Any:
    if isinstance(slot, AbstractNestedType):
        return [_value(slot.value_type, each, None) for each in value]
    if isinstance(slot, NamespacedType):
        kind = getattr(importlib.import_module(".".join(slot.namespaces)), slot.name)
        return filled(kind() if now is None else now, value)
    if isinstance(slot, BasicType) and slot.typename in ("float", "double"):
        return float(value)
    return value


def as_text(message: Any) -> str:
    """Return a message as YAML."""
    text: str = yaml.safe_dump(_plain(message), sort_keys=False, default_flow_style=None)
    return text


def _plain(value: Any) -> Any:
    if hasattr(value, "get_fields_and_field_types"):
        names = value.get_fields_and_field_types()
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, bytes):
        return list(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _subscribe(found: RosGraph, topic: str, take: Callable[[Any], object]) -> list[None]:
    """Subscribe with a QoS that fits the publishers; the returned list grows with each message."""
    name, count = found.full(topic), list[None]()
    kind = interface(found.type_of(topic), "msg")
    offered = [info.qos_profile for info in found.node.get_publishers_info_by_topic(name)]
    best = any(qos.reliability == ReliabilityPolicy.BEST_EFFORT for qos in offered)
    late = offered and all(x.durability == DurabilityPolicy.TRANSIENT_LOCAL for x in offered)
    qos = QoSProfile(
        depth=100,
        reliability=ReliabilityPolicy.BEST_EFFORT if best else ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if late else DurabilityPolicy.VOLATILE,
    )

    def heard(message: Any) -> None:
        count.append(None)
        take(message)

    found.node.create_subscription(kind, name, heard, qos)
    return count


def _yaml(text: str) -> object:
    try:
        return yaml.safe_load(text) if text.strip() else {}
    except yaml.YAMLError as error:
        raise refusal(f"{quote(text)} is not YAML: {' '.join(str(error).split())}") from None
