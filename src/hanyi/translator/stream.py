"""A translation as an iterator over its pieces, written by a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Event, Thread, main_thread

from hanyi.translator.results import Result

Write = Callable[[str], None]


class Closed(Exception):  # noqa: N818  no error: nobody reads any more
    """Raised where the writer is, to end it."""


class Stream(Iterator[str]):
    """Pieces of a translation as they come; joined they are the text of `result`.

    Example: `for piece in (stream := translator.stream(text)): print(piece, end="")`, and then
    `stream.result`.
    """

    def __init__(self, work: Callable[[Write], Result]) -> None:
        """Begin to work; `work` tells a function each piece and gives the whole in the end."""
        self._work = work
        self._pieces: SimpleQueue[str | None] = SimpleQueue()
        self._closed = Event()
        self._fault: BaseException | None = None
        self._result: Result | None = None
        # Python waits for it when it ends, which would abort under a thread at work in PyTorch.
        self._thread = Thread(target=self._run, name="hanyi-stream", daemon=False)
        self._thread.start()

    @property
    def result(self) -> Result:
        """Give the whole, and wait for it if it is not yet there."""
        self._thread.join()
        if self._fault is not None:
            raise self._fault
        if self._result is None:
            raise ValueError("the stream was closed before its end")
        return self._result

    def __next__(self) -> str:
        """Wait for a piece; raise what went wrong while it was written."""
        piece = self._pieces.get()
        if piece is not None:
            return piece
        self._pieces.put(None)  # for whoever asks again
        if self._fault is not None:
            raise self._fault
        raise StopIteration

    def close(self) -> None:
        """Stop translating after the token that is at work, unless all is done."""
        self._closed.set()

    def _write(self, piece: str) -> None:
        if self._closed.is_set() or not main_thread().is_alive():
            raise Closed
        if piece:
            self._pieces.put(piece)

    def _run(self) -> None:
        try:
            self._result = self._work(self._write)
        except Closed:
            pass
        except BaseException as fault:  # noqa: BLE001  the reader shall have it
            self._fault = fault
        finally:
            self._pieces.put(None)
