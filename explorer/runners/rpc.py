"""Devices of other machines, through TVM's RPC: one server, or every server of a tracker's key."""

from __future__ import annotations

import socket
from typing import Any

from explorer.errors import Refusal
from explorer.model.options import ADDRESS, KEY
from explorer.model.race import Where
from explorer.model.target import Target
from explorer.runners.base import Connection, Place, Say, Unreachable

NAME = "rpc"
LABEL = "Remote device (TVM RPC)"
WARNING = (
    "TVM RPC has no authentication and no encryption: whoever reaches the port runs code on the"
    " server. Keep servers on 127.0.0.1 and reach them through an ssh tunnel"
    " (ssh -L 9190:127.0.0.1:9190 user@host)."
)
LOOPBACK = "127.0.0.1"
CONNECT_TIMEOUT_S = 5.0
QUEUE_TIMEOUT_S = 60.0
"""A device that others use is waited for so long; the wait does not count as timing."""


def can_run(target: Target) -> Refusal | None:
    """Whatever the server can run: it says so itself when asked."""
    return None


def places(where: Where, target: Target) -> tuple[Place, ...] | Refusal:
    """The server, or one place for each server that the tracker has of the key."""
    given = where.tracker or where.server
    cuda = target.kind == "cuda"
    endpoint = parse(given)
    if endpoint is None:
        return Refusal(
            what=f'"{given}" is no address.' if given else "RPC needs an address.",
            why="A server or a tracker is named by host and port.",
            do=f"{ADDRESS}, e.g. 127.0.0.1:9090.",
        )
    if not where.tracker:
        return (
            Place(
                name=_text(endpoint),
                lock=f"rpc {_text(endpoint)}",
                endpoint=endpoint,
                host=endpoint[0],
                cuda=cuda,
            ),
        )
    if not where.key:
        return Refusal(
            what="The tracker needs a key.", why="It lends devices by key.",
            do=f"{KEY}.",
        )  # fmt: skip
    try:
        servers = _servers(endpoint, where.key)
    except (OSError, ValueError, KeyError) as failure:
        return Refusal(
            what=f"The tracker {_text(endpoint)} does not answer.", why=f"{failure}.",
            do="Start it: python -m tvm.exec.rpc_tracker --host 127.0.0.1 --port 9190.",
        )  # fmt: skip
    if not servers:
        return Refusal(
            what=f"The tracker {_text(endpoint)} has no server with the key {where.key}.",
            why="No server has registered with it, or only with other keys.",
            do="Start one: python -m tvm.exec.rpc_server --host 127.0.0.1"
            f" --tracker {_text(endpoint)} --key {where.key}.",
        )
    # The tracker lends whichever is free; the lock is taken by lending.
    return tuple(
        Place(
            name=f"{where.key} at {address}", lock="", endpoint=endpoint, number=number,
            host=address.rpartition(":")[0], cuda=cuda,
        )
        for number, address in enumerate(servers)
    )  # fmt: skip


def connect(place: Place, where: Where, session_s: float, say: Say) -> Connection:
    """A session with the server, or with one that the tracker lends.  Raises Unreachable."""
    from tvm import rpc

    endpoint, key = place.endpoint, where.key
    if where.tracker:
        endpoint, key = _borrow(place.endpoint, where.key)
    name = f"{'GPU' if place.cuda else 'CPU'} at {_text(endpoint)}"
    say(name)
    try:
        session = rpc.connect(*endpoint, key, session_timeout=session_s)
    except RuntimeError as failure:
        raise Unreachable(
            f"{_text(endpoint)} gives no session ({last_line(failure)}). Is the server running, and"
            " the tunnel open?"
        ) from None
    if place.cuda:
        device = session.cuda(where.device)
        if not device.exist:
            raise Unreachable(f"{_text(endpoint)} has no CUDA device {where.device}.")
    else:
        device = session.cpu(0)

    def load(file: Any) -> Any:
        session.upload(str(file))
        return session.load_module(file.name)

    return Connection(
        device=device,
        name=name,
        driver=str(device.device_name) if place.cuda else "",
        triple=_triple(session),
        load=load,
    )


def parse(text: str) -> tuple[str, int] | None:
    """Host and port of "host:port", "[::1]:port" or ":port" (loopback); None when it is neither."""
    host, colon, port = text.strip().rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 65536:
        return None
    return host.strip("[]") or LOOPBACK, int(port)


def last_line(failure: BaseException) -> str:
    """The last line of an error's text, which says what happened."""
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    return lines[-1] if lines else type(failure).__name__


def _servers(endpoint: tuple[str, int], key: str) -> list[str]:
    from tvm.rpc import base

    with _tracker(endpoint) as line:
        base.sendjson(line, [base.TrackerCode.SUMMARY])
        status, summary = base.recvjson(line)
    if status != base.TrackerCode.SUCCESS:
        raise ValueError(f"it answered {status}")
    return [
        ":".join(str(part) for part in server["addr"] if part is not None)
        for server in summary["server_info"]
        if server["key"] == f"server:{key}"
    ]


def _borrow(endpoint: tuple[str, int], key: str) -> tuple[tuple[str, int], str]:
    """The address and match key of a server that the tracker lends.  Raises Unreachable."""
    from tvm.rpc import base

    try:
        with _tracker(endpoint) as line:
            line.settimeout(QUEUE_TIMEOUT_S)
            base.sendjson(line, [base.TrackerCode.REQUEST, key, "", 1])
            status, found = base.recvjson(line)
    except TimeoutError:
        raise Unreachable(
            f"No device with the key {key} came free within {QUEUE_TIMEOUT_S:.0f} s."
        ) from None
    except OSError as failure:
        raise Unreachable(f"The tracker {_text(endpoint)} is gone: {failure}.") from None
    if status != base.TrackerCode.SUCCESS:
        raise Unreachable(f"The tracker refused: {found}.")
    host, port, match = found
    return (str(host), int(port)), str(match)


def _tracker(endpoint: tuple[str, int]) -> socket.socket:
    """A connection that has greeted.  Raises OSError, ValueError when it is no tracker."""
    import struct

    from tvm.rpc import base

    line = socket.create_connection(endpoint, CONNECT_TIMEOUT_S)
    line.sendall(struct.pack("<i", base.RPC_TRACKER_MAGIC))
    (magic,) = struct.unpack("<i", base.recvall(line, 4))
    if magic != base.RPC_TRACKER_MAGIC:
        line.close()
        raise ValueError("it is no RPC tracker")
    return line


def _triple(session: Any) -> str:
    """The server's own word on its processor, "" when its TVM was built without LLVM."""
    try:
        return str(session.get_function("target.llvm_get_system_triple")())
    except (AttributeError, RuntimeError):
        return ""


def _text(endpoint: tuple[str, int]) -> str:
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
