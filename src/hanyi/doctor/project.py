"""The project: parameters, data, model, git and DVC, the store of runs. Nothing is written."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import requests

from hanyi.corpus.sources import FetchConfig
from hanyi.corpus.sources.peek import look_at_corpora
from hanyi.doctor.findings import Finding, fault, good, note, shown
from hanyi.errors import HanyiError
from hanyi.languages import Languages
from hanyi.model.config import ModelConfig
from hanyi.model.storage import read_description
from hanyi.params import PARAMS_FILE, load_section, read_params
from hanyi.sections import faults as section_faults
from hanyi.tracking.address import SQLITE, store_address

MODEL = Path("models/transformer")
PATIENCE = 5.0  # seconds that a tracking server may take to answer


def project(root: Path) -> Iterator[Finding]:
    """Look at the project in `root`, the working directory; outside of one there is one note."""
    if not (root / PARAMS_FILE).exists():
        yield note(
            f"no {PARAMS_FILE} here: run it in a project's root to have data and models looked at",
            f"此处没有 {PARAMS_FILE}：在项目根目录运行，才会检查数据和模型",
        )
        return
    yield _repository(root)
    faults = list(_parameters())
    yield from faults or [good(f"{PARAMS_FILE} holds no fault", f"{PARAMS_FILE} 没有错误")]
    yield from _data()
    yield _model()
    yield _store(root)


def _repository(root: Path) -> Finding:
    if shutil.which("git") is None:
        return fault("git is missing; install it", "缺少 git，请安装")
    asked = ["git", "rev-parse", "--is-inside-work-tree"]
    inside = subprocess.run(asked, cwd=root, capture_output=True, check=False).returncode == 0
    if not (inside and (root / ".dvc").is_dir() and (root / "dvc.yaml").is_file()):
        return fault(
            "git, .dvc or dvc.yaml is missing: `dvc repro` cannot run; clone the project anew",
            "缺少 git 仓库、.dvc 或 dvc.yaml，无法运行 `dvc repro`；请重新克隆项目",
        )
    return good("a git repository with a DVC pipeline", "git 仓库与 DVC 流水线就绪")


def _parameters() -> Iterator[Finding]:
    try:
        params = read_params()
    except HanyiError as error:
        yield fault(shown(error), f"参数有误：{shown(error)}")
        return
    for found in section_faults(params):
        yield fault(shown(found), f"参数有误：{shown(found)}")


def _data() -> Iterator[Finding]:
    try:
        fetch, languages = load_section("fetch", FetchConfig), load_section("languages", Languages)
    except HanyiError:  # told already
        return
    for look in look_at_corpora(fetch, languages, 1):
        if look.error:
            yield fault(f"{look.title}: {look.error}", f"语料 {look.title}：{look.error}")
        elif look.rows:
            first = _excerpt(" | ".join(look.rows[0][1:]))
            yield good(f"{look.title}: {first}", f"语料 {look.title}：{first}")
        else:
            yield good(f"{look.title}: {look.reading}", f"语料 {look.title}：抓取时读取或生成")


def _excerpt(text: str, longest: int = 80) -> str:
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"


def _model() -> Finding:
    if not MODEL.exists():
        return note(
            "no trained model yet: run `dvc repro`", "还没有训练好的模型：请运行 `dvc repro`"
        )
    try:
        described = read_description(MODEL)
    except HanyiError as error:
        return fault(shown(error), f"模型有误：{shown(error)}")
    try:
        asked = load_section("model", ModelConfig)
    except HanyiError:  # told already
        asked = described.model
    if described.model != asked:
        return note(
            f"{MODEL} was trained with other `model` parameters: run `dvc repro`",
            f"{MODEL} 是用别的 `model` 参数训练的：请运行 `dvc repro`",
        )
    return good(f"a trained model in {MODEL}", f"{MODEL} 中有训练好的模型")


def _store(root: Path) -> Finding:
    address = store_address(root)
    try:
        if address.startswith(SQLITE):
            return _database(Path(address.removeprefix(SQLITE)))
        if address.startswith(("http:", "https:")):
            requests.get(f"{address.rstrip('/')}/health", timeout=PATIENCE).raise_for_status()
    except (OSError, sqlite3.Error) as error:
        return note(
            f"the store of runs, {address}, gives no answer: stages go without ({shown(error)})",
            f"运行记录库 {address} 没有回应，各阶段仍可运行（{shown(error)}）",
        )
    return good(f"the store of runs is {address}", f"运行记录库：{address}")


def _database(file: Path) -> Finding:
    if not file.exists():
        return good(
            f"the store of runs, {file.name}, will be made by the first run",
            f"运行记录库 {file.name} 将在首次运行时创建",
        )
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
        count = database.execute("SELECT count(*) FROM runs").fetchone()[0]
    return good(f"{count} runs in {file.name}", f"{file.name} 中有 {count} 次运行")
