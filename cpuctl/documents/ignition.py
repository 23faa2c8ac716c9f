"""Files as in Ignition, in OpenShift's MachineConfigs: a data URL, perhaps compressed.

Source: the Ignition specification 3, ``storage.files[].contents``.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from cpuctl.errors import InputError

_MOST_BYTES = 4 << 20
_GZIP = 16 + zlib.MAX_WBITS


def file_text(contents: Mapping[str, Any], name: str, where: str) -> str:
    """Decode the content of a file called *name*; raise InputError with the place *where* it is."""
    try:
        raw = _raw(str(contents.get("source") or ""))
        if contents.get("compression") == "gzip":
            raw = _unpacked(raw)
        text = raw.decode()
    except binascii.Error:
        reason = "damaged base64"
    except (zlib.error, EOFError):
        reason = f"damaged gzip data, or more than {_MOST_BYTES >> 20} MiB unpacked"
    except UnicodeDecodeError:
        reason = "not UTF-8"
    else:
        return text
    raise InputError(f"{name} cannot be decoded: {reason}", where=where)


def _raw(url: str) -> bytes:
    media_type, _, data = url.partition(",")
    if not media_type.endswith(";base64"):
        return unquote_to_bytes(data)
    return base64.b64decode("".join(data.split()), validate=True)


def _unpacked(raw: bytes) -> bytes:
    unpacking = zlib.decompressobj(wbits=_GZIP)
    found = unpacking.decompress(raw, _MOST_BYTES)
    if not unpacking.eof:
        raise EOFError
    return found
