"""A web server on loopback that misbehaves as asked."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Page:
    """What is served at a path, and how."""

    body: bytes = b""
    etag: str | None = None
    modified: str | None = None
    ranges: bool = True  # False: as a server that knows no Range
    status: int = 200
    location: str | None = None
    length: bool = True  # False: closes the connection at the end, and told no length
    cuts: list[int] = field(default_factory=list)  # bytes after which each next answer breaks off
    failures: int = 0  # so many answers are 503 first


class Site:
    """Pages by path, and the requests that came."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.pages: dict[str, Page] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []

    def put(self, path: str, page: Page) -> str:
        """Serve a page; give its URL."""
        self.pages[path] = page
        return self.address + path

    @property
    def ranges(self) -> list[str | None]:
        """Give the Range of each request."""
        return [headers.get("range") for _, headers in self.asked]


@contextmanager
def serving() -> Iterator[Site]:
    """Serve on a free port of loopback."""

    class Handler(_Handler):
        pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Handler.site = site = Site(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    site: Site
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.site.asked.append((self.path, headers))
        self.close_connection = True
        page = self.site.pages.get(self.path.partition("?")[0])
        if page is None or page.status != 200 or page.failures:
            self._bare(page)
            return
        begin, validators = 0, {page.etag, page.modified} - {None}
        if page.ranges and "range" in headers and headers.get("if-range") in validators:
            begin = int(re.fullmatch(r"bytes=(\d+)-", headers["range"])[1])
            if begin >= len(page.body):
                self.send_response(416)
                self._end({"Content-Length": "0"})
                return
            self.send_response(206)
            self.send_header(
                "Content-Range", f"bytes {begin}-{len(page.body) - 1}/{len(page.body)}"
            )
        else:
            self.send_response(200)
        body = page.body[begin:]
        known = {"ETag": page.etag, "Last-Modified": page.modified}
        known["Content-Length"] = str(len(body)) if page.length else None
        self._end({key: value for key, value in known.items() if value is not None})
        self.wfile.write(body[: page.cuts.pop(0)] if page.cuts else body)

    def _bare(self, page: Page | None) -> None:
        if page and page.failures:
            page.failures -= 1
            self.send_response(503)
        else:
            self.send_response(page.status if page else 404)
        self._end({"Location": page.location} if page and page.location else {})

    def _end(self, headers: dict[str, str]) -> None:
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""
