"""Rules of the house that a linter does not know: sizes, layers, words, files that parse."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_LINES = 300
MAX_STATEMENTS = 40
# Paths of one person's machine; written in pieces, so that this file does not hold them.
PRIVATE = re.compile("|".join(["/" + "root/", r"/home/[a-z]", "/" + "work/", r"\.\./" + "shared"]))

Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(scope="session")
def sources(root: Path) -> list[Path]:
    """Give the Python files of the library and the stages."""
    return sorted([*(root / "src").rglob("*.py"), *(root / "stages").glob("*.py")])


def test_files_are_short(root: Path, sources: list[Path]) -> None:
    sizes = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in sources}
    long = {str(file.relative_to(root)): size for file, size in sizes.items() if size >= MAX_LINES}
    assert not long, f"split by purpose, files stay under {MAX_LINES} lines: {long}"


def functions(file: Path) -> Iterator[Function]:
    """Give each function of a file, methods and inner ones included."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_functions_are_short(root: Path, sources: list[Path]) -> None:
    long = {
        f"{file.relative_to(root)}:{function.name}": statements
        for file in sources
        for function in functions(file)
        if (statements := sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - 1)
        >= MAX_STATEMENTS
    }
    assert not long, f"split by purpose, functions stay under {MAX_STATEMENTS} statements: {long}"


def test_the_library_never_prints(root: Path) -> None:
    prints = [
        f"{file.relative_to(root)}:{node.lineno}"
        for file in sorted((root / "src").rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    ]
    assert not prints, f"use a logger: {prints}"


def test_arrow_reads_none_of_pythons_memory(root: Path, sources: list[Path]) -> None:
    """A thread of Arrow that lets go of Python's memory while Python ends aborts the process."""
    loose = [
        f"{file.relative_to(root)}:{call.lineno}"
        for file in sources
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func).endswith("BufferReader")
        and not ast.unparse(call.args[0]).endswith(".getvalue()")  # of a BufferOutputStream
    ]
    assert not loose, f"write the bytes into a BufferOutputStream first: {loose}"


def test_no_grab_bags(sources: list[Path]) -> None:
    bags = [file for file in sources if file.stem in {"utils", "util", "helpers", "common", "misc"}]
    assert not bags, "name a module by what it is for"


def test_text_files_are_opened_as_utf8(root: Path, sources: list[Path]) -> None:
    """The encoding must not come from the machine."""
    careless = []
    for file in sources:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            keywords = {keyword.arg for keyword in node.keywords}
            name = node.func.attr
            reads = name == "read_text" and not (node.args or "encoding" in keywords)
            writes = name == "write_text" and not {"encoding", "newline"} <= keywords
            if reads or writes:
                careless.append(f"{file.relative_to(root)}:{node.lineno}")
    assert not careless, f"give encoding='utf-8', and newline='\\n' when writing: {careless}"


def test_imports_run_one_way(root: Path) -> None:
    linter = Path(sys.executable).parent / "lint-imports"
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
    command = [linter, "--no-cache"]
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_private_paths(root: Path, tracked: list[Path]) -> None:
    found = []
    for file in tracked:
        text = (root / file).read_text(encoding="utf-8", errors="ignore")
        found += [
            f"{file}:{number}"
            for number, line in enumerate(text.splitlines(), start=1)
            if PRIVATE.search(line)
        ]
    assert not found, f"these lines work on one machine only: {found}"


def test_data_files_parse(root: Path, tracked: list[Path]) -> None:
    yaml = YAML(typ="safe", pure=True)  # refuses a key that is written twice
    readers = {
        ".yaml": lambda text: list(yaml.load_all(text)),
        ".yml": lambda text: list(yaml.load_all(text)),
        ".lock": lambda text: list(yaml.load_all(text)),
        ".toml": tomllib.loads,
        ".json": json.loads,
    }
    for file in tracked:
        if file.suffix in readers and file.name != "requirements.lock":
            try:
                readers[file.suffix]((root / file).read_text(encoding="utf-8"))
            except Exception as error:  # noqa: BLE001  (whatever the reader raises, say which file)
                pytest.fail(f"{file}: {error}")


def test_text_files_have_plain_ends(root: Path, tracked: list[Path]) -> None:
    odd = [
        str(file)
        for file in tracked
        if (data := (root / file).read_bytes())
        and b"\0" not in data
        and (b"\r" in data or not data.endswith(b"\n"))
    ]
    assert not odd, f"end the last line with one newline, no carriage returns: {odd}"
