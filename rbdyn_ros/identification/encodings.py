"""How the bytes of a document were made from its text, so that another text can follow them."""

from __future__ import annotations

import codecs
import re

from rbdyn_ros.errors import Finding, ParameterError

_DECLARED = re.compile(r"""\s*<\?xml[^>]{1,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
# first bytes of a document, which are not in its text, and what the others are in
_UNDECLARED = (
    (b"", "utf-8"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (b"", "utf-16-le"),
    (b"", "utf-16-be"),
)


def encoding_of(data: bytes, text: str) -> tuple[bytes, str]:
    """Return a byte order mark and the encoding by which a text gives its bytes again.

    Args:
        data: of a document.
        text: what they were decoded to, without the mark.

    Raises:
        ParameterError: there is none.
    """
    declared = _DECLARED.match(text)
    known = [(b"", declared.group(1))] if declared else []
    for mark, encoding in (*known, *_UNDECLARED):
        if mark + _encoded(text, encoding) == data:
            return mark, encoding
    text = "the URDF is in an encoding that cannot be written again; save it as UTF-8"
    raise ParameterError(Finding("bad-patch", text, "error", "urdf"))


def _encoded(text: str, encoding: str) -> bytes:
    """Return the bytes of a text, none if it cannot be in that encoding."""
    try:
        return text.encode(encoding)
    except (LookupError, UnicodeError):  # declared as one, in truth another
        return b""
