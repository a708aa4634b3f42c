"""Listening, and stopping in good order."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import resource
import socket
import time
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from hanyi.errors import ParamsError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from hanyi.service.work import Service

log = logging.getLogger("hanyi.service")

BACKLOG = 2048  # connections that wait to be taken
FILES = 65_536  # open files, each connection is one


def listen(host: str, port: int) -> socket.socket:
    """Take an address; port 0 is any free one. Raises `ParamsError` when it cannot be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        taken = socket.socket(family, kind, protocol)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
    except (OSError, OverflowError, UnicodeError) as error:
        raise ParamsError(
            f"--host {host} --port {port}", str(error), "a free address", "choose another"
        ) from None
    return taken


def url_of(taken: socket.socket) -> str:
    """Give the URL of an address."""
    host, port = taken.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(taken: socket.socket) -> bool:
    """Tell whether only this machine reaches an address."""
    return ipaddress.ip_address(taken.getsockname()[0].partition("%")[0]).is_loopback


def run(app: FastAPI, taken: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT.

    From the first of these on, requests that are being answered have `grace_seconds` to end, and
    new ones are refused with 503. A second one ends all at once.
    """
    _raise_file_limit()
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=1,  # our own comes before
    )
    service = app.state.service
    Server(config, service).run(sockets=[taken])
    if service.batcher.at_work:  # Python would abort if it ended while a thread is in PyTorch
        log.warning("a batch was not translated in time")
        os._exit(0)


class Server(uvicorn.Server):
    """A server that still listens, and refuses, while the last requests end."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self.service = service
        self.until = 0.0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  uvicorn's
        """Begin to stop, or stop at once."""
        if self.service.stopping:
            self.should_exit = self.force_exit = True
        self.until = time.monotonic() + self.service.limits.grace_seconds
        self.service.stopping = True

    async def on_tick(self, counter: int) -> bool:
        """Tell, ten times in a second, whether it is time to leave."""
        leave = await super().on_tick(counter)
        if leave or not self.service.stopping:
            return leave
        late = time.monotonic() > self.until
        if late and self.service.active:
            log.warning("%d requests were not answered in time", self.service.active)
        return late or not self.service.active


def _raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
