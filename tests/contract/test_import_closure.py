"""Each stage's `deps` in dvc.yaml are the rooms that it imports, no more and no fewer.

The closure is computed from the source text, so that an import inside a function counts as much as
one at the top, and one under TYPE_CHECKING, which never runs, does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Modules that cannot change an output, and why; an edit of them must not train a model again. What
# they import is followed all the same.
# `params` and `artifacts` are NOT among them: the one decides which values a stage gets, the other
# the bytes of metrics and headers (digits, order of keys, digests), so both are watched as files.
LEFT_OUT = {
    "hanyi": "the package's docstring and version",
    "hanyi.ahead": "results of a function in their order, whatever the number of threads",
    "hanyi.errors": "the words of a message; a stage that raises one has no outputs",
    "hanyi.progress": "what is shown while a stage runs",
    "hanyi.revisions": "what git and DVC hold of other revisions, for the mirror",
    "hanyi.tracking": "the mirror in MLflow, which stages write to and never read",
    "hanyi.cli": "the command line; no stage runs it",
    "stages": "puts the library on the path",
    "stages.harness": "publishes through hanyi.artifacts what the stage returns; reports faults",
    "stages.launch": "starts the processes; what they share out, their stage publishes",
    "stages.paths": "held equal to dvc.yaml by test_paths.py",
}


def module_file(root: Path, module: str) -> Path | None:
    """Give the file of a module of the project, or None for any other."""
    parts = module.split(".")
    if parts[0] not in {"hanyi", "stages"}:
        return None
    base = root / "src" if parts[0] == "hanyi" else root
    path = base.joinpath(*parts)
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file():
            return file
    return None


def _runs(node: ast.AST) -> Iterator[ast.AST]:
    """Give the nodes below this one, without the bodies of `if TYPE_CHECKING:`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield other
                yield from _runs(other)
            continue
        yield child
        yield from _runs(child)


def imports(root: Path, module: str) -> set[str]:
    """Give the modules of the project that a module imports, and the packages above them."""
    file = module_file(root, module)
    assert file is not None, module
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    names: set[str] = set()
    for node in _runs(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _base(package, node)
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    with_packages = {
        name.rsplit(".", maxsplit=drop)[0] for name in names for drop in range(name.count(".") + 1)
    }
    return {name for name in with_packages if module_file(root, name)}


def _base(package: str, node: ast.ImportFrom) -> str:
    """Give the module that a `from` names: `from ..pantry` in a.b is a.pantry."""
    if not node.level:
        return str(node.module)
    above = package.split(".")[: package.count(".") + 2 - node.level]
    return ".".join([*above, *filter(None, [node.module])])


def _is_left_out(module: str) -> bool:
    parts = module.split(".")
    prefixes = {".".join(parts[:depth]) for depth in range(2, len(parts) + 1)}
    return module in LEFT_OUT or bool(prefixes & set(LEFT_OUT))


def closure(root: Path, stage: str) -> set[str]:
    """Give the modules that can change a stage's outputs, itself included."""
    seen: set[str] = set()
    waiting = [f"stages.{stage}"]
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += imports(root, module)
    return {module for module in seen if not _is_left_out(module)}


def rooms(root: Path, modules: set[str]) -> list[str]:
    """Give what DVC watches for these modules: sub-packages as directories, others as files."""
    found = set()
    for module in modules:
        parts = module.split(".")
        room = root / "src" / "hanyi" / parts[1]
        if parts[0] == "hanyi" and room.is_dir():
            found.add(room.relative_to(root).as_posix())
        else:
            file = module_file(root, module)
            assert file is not None
            found.add(file.relative_to(root).as_posix())
    return sorted(found, key=lambda path: (not path.startswith("stages/"), path))


def stage_names(root: Path) -> list[str]:
    """Give the stages of dvc.yaml, read here because parametrising comes before fixtures."""
    from ruamel.yaml import YAML

    return list(YAML(typ="safe", pure=True).load(root / "dvc.yaml")["stages"])


@pytest.mark.parametrize("stage", stage_names(Path(__file__).resolve().parents[2]))
def test_deps_are_the_imported_rooms(root: Path, wiring: dict[str, Any], stage: str) -> None:
    listed = [dep for dep in wiring[stage]["deps"] if dep.startswith(("stages/", "src/"))]
    expected = rooms(root, closure(root, stage))
    paste = "\n".join(f"      - {room}" for room in expected)
    assert sorted(listed) == sorted(expected), (
        f"dvc.yaml: the code that stage {stage} imports has changed; begin its deps with\n{paste}"
    )


def test_left_out_modules_exist(root: Path) -> None:
    gone = [module for module in LEFT_OUT if not module_file(root, module)]
    assert not gone, f"LEFT_OUT names modules that are no more: {gone}"


def test_no_import_hides_from_the_closure(root: Path) -> None:
    hidden = [
        f"{file.relative_to(root)}:{node.lineno}"
        for folder in ("src", "stages")
        for file in sorted((root / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if getattr(node, "id", getattr(node, "attr", "")) in {"import_module", "__import__"}
    ]
    assert not hidden, f"imports by name cannot be followed, use import statements: {hidden}"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """Build a small project with each way to import."""
    files = {
        "stages/__init__.py": "",
        "stages/cook.py": (
            "from typing import TYPE_CHECKING\n"
            "from hanyi.kitchen import stove\n"
            "from hanyi.errors import HanyiError\n"
            "if TYPE_CHECKING:\n"
            "    from hanyi.attic.box import Box\n"
            "else:\n"
            "    import hanyi.hall\n"
            "def main():\n"
            "    from hanyi.cellar.wine import red\n"
        ),
        "src/hanyi/__init__.py": "",
        "src/hanyi/errors.py": "import hanyi.errands\n",
        "src/hanyi/errands/__init__.py": "",
        "src/hanyi/hall.py": "",
        "src/hanyi/kitchen/__init__.py": "from .sink import water\n",
        "src/hanyi/kitchen/sink.py": "from ..pantry import flour\n",
        "src/hanyi/kitchen/stove.py": "",
        "src/hanyi/pantry.py": "",
        "src/hanyi/cellar/__init__.py": "",
        "src/hanyi/cellar/wine.py": "",
        "src/hanyi/attic/__init__.py": "",
        "src/hanyi/attic/box.py": "",
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


def test_closure_follows_imports_that_run(house: Path) -> None:
    assert rooms(house, closure(house, "cook")) == [
        "stages/cook.py",
        "src/hanyi/cellar",
        "src/hanyi/errands",
        "src/hanyi/hall.py",
        "src/hanyi/kitchen",
        "src/hanyi/pantry.py",
    ]
