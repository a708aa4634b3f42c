"""Addresses that the service takes."""

from __future__ import annotations

import pytest

from hanyi.errors import ParamsError
from hanyi.service.server import is_loopback, listen, url_of


@pytest.mark.parametrize(
    ("host", "loopback", "url"),
    [
        ("127.0.0.1", True, "http://127.0.0.1:"),
        ("localhost", True, "http://"),
        ("127.9.9.9", True, "http://127.9.9.9:"),
        ("0.0.0.0", False, "http://0.0.0.0:"),  # where nobody listens yet
    ],
)
def test_addresses(host: str, loopback: bool, url: str) -> None:
    with listen(host, 0) as taken:
        assert is_loopback(taken) is loopback
        assert url_of(taken).startswith(url)
        assert url_of(taken).rpartition(":")[2] == str(taken.getsockname()[1])


def test_the_new_protocol() -> None:
    try:
        taken = listen("::1", 0)
    except ParamsError:
        pytest.skip("this machine has no IPv6")
    with taken:
        assert is_loopback(taken)
        assert url_of(taken).startswith("http://[::1]:")


@pytest.mark.parametrize("host", ["192.0.2.1", "a..b", "x" * 300])
def test_addresses_that_cannot_be_had(host: str) -> None:
    with pytest.raises(ParamsError, match="expected a free address; choose another"):
        listen(host, 0)


def test_an_address_that_is_taken() -> None:
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ParamsError, match=f"--host 127.0.0.1 --port {port}"):
            listen("127.0.0.1", port)
