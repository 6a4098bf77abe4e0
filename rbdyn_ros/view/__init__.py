# SPDX-License-Identifier: Apache-2.0
"""Views and pictures of robots; `rb.view(m, d)` calls this package, see view.web.opened.view."""

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """A package that can also be called, as the public function `rb.view`."""

    def __call__(self, *args: Any, **more: Any) -> Any:
        from rbdyn_ros.view.web.opened import view

        return view(*args, **more)


sys.modules[__name__].__class__ = _CallablePackage
