"""Where the project's MLflow store is, and why it does not answer."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from textwrap import shorten

SQLITE = "sqlite:///"
REMOTE = ("http:", "https:", "databricks")
LONGEST_REASON = 200  # characters; MLflow quotes whole requests


def store_address(root: Path) -> str:
    """Give the store's address: MLFLOW_TRACKING_URI, or a database in the project's root.

    A relative database file counts from the root, not from where a stage happens to run.
    """
    address = os.environ.get("MLFLOW_TRACKING_URI") or f"{SQLITE}mlflow.db"
    file = address.removeprefix(SQLITE)
    if file == address or not file or file.startswith(("/", ":")):
        return address
    return f"{SQLITE}{root / file}"


def is_remote(address: str) -> bool:
    """Tell whether a server stands between us and the store, which keeps the artifacts too."""
    return address.startswith(REMOTE)


def require_writable(address: str) -> None:
    """Raise `sqlite3.OperationalError` for a database file that cannot be opened or written.

    MLflow would try for a minute and a half.
    """
    file = address.removeprefix(SQLITE)
    if file == address or file.startswith(":"):
        return
    with closing(sqlite3.connect(file)) as database:
        database.execute("BEGIN IMMEDIATE")
        database.rollback()


def why(address: str, error: BaseException) -> str:
    """Give the first cause of a failure of the store in one line, without passwords."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return plainly(f"{address}: {str(error) or type(error).__name__}")


def plainly(text: str) -> str:
    """Give what MLflow says as one line of bearable length, without passwords of addresses."""
    line = " ".join(re.sub(r"//[^/\s]*@", "//", text).split())
    return shorten(line, LONGEST_REASON, placeholder=" ...")
