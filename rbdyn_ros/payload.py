"""Where with_payload was; programs may still import it from here. New code: rb.with_payload."""

from rbdyn_ros.dynamics.payload import with_payload

__all__ = ["with_payload"]
