"""Every error of the service in one shape: `{"error": {"code": ..., "message": ...}}`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from email.message import Message
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.responses import Response

from hanyi.errors import HanyiError

log = logging.getLogger("hanyi.service")

CODES = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    408: "body_too_slow",
    413: "too_large",
    415: "not_json",
    422: "invalid",
    429: "busy",
    500: "internal",
    503: "unavailable",
    504: "timeout",
}
"""What a status is called in an answer."""

TOLD = 3
"""Faults of a request that its answer names; further ones are counted."""

TOLD_CHARS = 60
"""Characters of a client's own words that an answer repeats."""


class RefusedError(HanyiError):
    """A request that the service does not take, or cannot finish."""

    def __init__(
        self,
        status: int,
        where: str,
        found: str,
        expected: str,
        remedy: str,
        *,
        retry_after: int | None = None,
    ) -> None:
        """Refuse with a status of `CODES`; `retry_after` is in seconds."""
        super().__init__(where, found, expected, remedy)
        self.status = status
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}


def stopping() -> RefusedError:
    """Give the error of requests that come while the service stops."""
    return RefusedError(503, "service", "it stops", "a running one", "ask another", retry_after=5)


class Gone(Exception):  # noqa: N818  nothing failed: nobody waits for the answer any more
    """The client has closed its connection."""


def error_body(status: int, message: str) -> dict[str, Any]:
    """Give the shape of every error."""
    return {"error": {"code": CODES.get(status, "error"), "message": printable(message)}}


def printable(text: str) -> str:
    """Write out halves of surrogate pairs, which JSON may hold but UTF-8 has no bytes for."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Give the answer that tells an error."""
    return JSONResponse(error_body(status, message), status, headers=headers)


def status_of(error: Exception) -> int:
    """Give the status of an error; an error of the model on a text is one of the request."""
    if isinstance(error, RefusedError):
        return error.status
    return 422 if isinstance(error, HanyiError) else 500


def message_of(error: Exception) -> str:
    """Give what a client is told; what a bug says stays in the log."""
    return str(error) if isinstance(error, HanyiError) else "an error of the service; see its log"


def catch_all(app: FastAPI) -> None:
    """Answer every error of an application in the one shape."""
    app.exception_handler(HanyiError)(_told)
    app.exception_handler(HTTPException)(_of_http)
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(Gone)(_gone)
    app.exception_handler(Exception)(_bug)


async def _told(_request: Request, error: HanyiError) -> Response:
    headers = error.headers if isinstance(error, RefusedError) else None
    return answer(status_of(error), str(error), headers)


async def _of_http(_request: Request, error: HTTPException) -> Response:
    return answer(error.status_code, _sentence(error), error.headers)


async def _gone(_request: Request, _error: Gone) -> Response:
    return Response(status_code=499)  # nobody reads it; the log of requests does


async def _bug(_request: Request, error: Exception) -> Response:
    return answer(500, message_of(error))


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    if not _is_json(request.headers.get("content-type", "")):
        return answer(
            415,
            "content-type: no JSON, expected application/json; send the header and a JSON object",
        )
    faults = error.errors()
    if any(fault["type"] == "json_invalid" for fault in faults):
        return answer(400, f"body: no JSON ({faults[0]['ctx']['error']}), expected an object")
    return answer(422, _faults(faults))


def _sentence(error: HTTPException) -> str:
    expected = {
        400: "the body is no JSON, or nests too deep",
        404: "there is nothing at this path; /docs lists what there is",
        405: "this path has no such method; /docs lists what there is",
    }
    phrase = HTTPStatus(error.status_code).phrase.lower()
    return expected.get(error.status_code, phrase)


def _is_json(content_type: str) -> bool:
    message = Message()
    message["content-type"] = content_type
    kind, _, subtype = message.get_content_type().partition("/")
    return kind == "application" and (subtype == "json" or subtype.endswith("+json"))


def _faults(faults: Sequence[Mapping[str, Any]]) -> str:
    told = [f"{_place(fault['loc'])}: {_reason(fault)}" for fault in faults[:TOLD]]
    if len(faults) > TOLD:
        told.append(f"and {len(faults) - TOLD} more")
    return "; ".join(told)


def _place(loc: Sequence[object]) -> str:
    return ".".join(str(part)[:TOLD_CHARS] for part in loc)


def _reason(fault: Mapping[str, Any]) -> str:
    text = str(fault["msg"]).removeprefix("Value error, ")
    return text[:1].lower() + text[1:]
