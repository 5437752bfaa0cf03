"""Frames between processes: a length of four bytes (big-endian), then that much JSON.

JSON only, decoded into a known type: nothing that arrives can run code.
"""

from __future__ import annotations

import socket
import struct
from typing import Any

import msgspec

from explorer.errors import Problem

MAX_FRAME_BYTES = 64 << 20
"""Longest frame either side accepts; a longer one means that the other side lost its mind."""

_LENGTH = struct.Struct(">I")


class Request(msgspec.Struct, frozen=True):
    """One question to a child: a verb of its table and positional arguments."""

    verb: str
    args: list[Any]


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer: one of `ok`, `so_far`, `problem` (a user error) or `bug` (a traceback) is set.

    `retire` asks the client to use this process no more: it ran out of memory.  `so_far` is no
    answer yet but what was found so far; as many as there are come before the answer.
    """

    ok: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    so_far: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    problem: Problem | None = None
    bug: str = ""
    retire: bool = False


class Hello(msgspec.Struct, frozen=True):
    """A child's first frame: its process (and process group) id, and how much it has imported."""

    pid: int
    warm: bool


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the server reports: a new stage of its own, or the end of a child.

    `status` is a wait status as `os.waitstatus_to_exitcode` gives it: negative for a signal.
    """

    stage: str = ""
    ended: int = 0
    status: int = 0


class BadFrame(Exception):
    """What arrived is no frame: too long, cut short, or not the JSON that was due."""


def send(sock: socket.socket, value: Any) -> None:
    """Send one value.  Raises OSError when the other side is gone, BadFrame when it is too long."""
    data = msgspec.json.encode(value)
    if len(data) > MAX_FRAME_BYTES:
        raise BadFrame(f"{len(data)} bytes are more than a frame may have")
    sock.sendall(_LENGTH.pack(len(data)) + data)


def receive_bytes(sock: socket.socket) -> bytes | None:
    """The next frame's bytes, or None at the end.  Raises BadFrame, and TimeoutError of `sock`."""
    head = _exactly(sock, _LENGTH.size)
    if not head:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > MAX_FRAME_BYTES:
        raise BadFrame(f"a frame of {length} bytes")
    body = _exactly(sock, length)
    if len(body) < length:
        raise BadFrame("a frame cut short")
    return body


def decode(data: bytes, wanted: Any) -> Any:
    """A frame's bytes as a value of type `wanted`.  Raises BadFrame."""
    try:
        return msgspec.json.decode(data, type=wanted)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadFrame(str(error)) from error


def _exactly(sock: socket.socket, count: int) -> bytes:
    """`count` bytes; fewer only when the other side closed in the middle, b"" when before."""
    data = bytearray()
    while len(data) < count:
        chunk = sock.recv(min(count - len(data), 1 << 20))
        if not chunk:
            if data:
                raise BadFrame("a frame cut short")
            break
        data += chunk
    return bytes(data)
