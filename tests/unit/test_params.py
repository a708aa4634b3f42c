from __future__ import annotations

from pathlib import Path

import pytest

from hanyi.errors import ParamsError
from hanyi.params import at_least, config, flatten, load_section, one_of, parse, read_params


@config
class Inner:
    rate: float


@config
class Outer:
    heads: int
    d_model: int
    norm: str
    betas: tuple[float, float]
    inner: Inner
    patience: int | None
    tie: bool

    def __post_init__(self) -> None:
        if self.d_model % self.heads:
            raise ValueError(
                f"heads must divide d_model, got heads {self.heads} and d_model {self.d_model}"
            )


GOOD = """\
model:
  heads: 4
  d_model: 256
  norm: pre
  betas: [0.9, 0.98]
  inner:
    rate: 1e-05
  patience: null
  tie: true
"""


def load(tmp_path: Path, text: str) -> Outer:
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    return load_section("model", Outer, path)


def fault(tmp_path: Path, text: str) -> str:
    with pytest.raises(ParamsError) as caught:
        load(tmp_path, text)
    line = str(caught.value)
    assert "\n" not in line
    assert "params.yaml" in line
    return line


def test_values_are_read_as_yaml_1_2(tmp_path: Path) -> None:
    found = load(tmp_path, GOOD.replace("norm: pre", "norm: no"))
    assert found.inner.rate == 1e-05  # PyYAML gives the string that DVC wrote
    assert found.norm == "no"  # PyYAML gives False
    assert found.betas == (0.9, 0.98)
    assert found.patience is None
    assert load(tmp_path, GOOD.replace("rate: 1e-05", "rate: 1")).inner.rate == 1.0


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("  heads: 4\n", "  heads: 4\n  head: 4\n", ["model.head:", "unknown key"]),
        ("heads: 4", "heds: 4", ["model.heds: unknown key", "model.heads: missing"]),
        ("rate: 1e-05", "rat: 1e-05", ["model.inner.rat: unknown key", "model.inner.rate:"]),
        ("heads: 4", 'heads: "4"', ["model.heads:", "valid integer", "got '4'"]),
        ("heads: 4", "heads: true", ["model.heads:", "valid integer", "got True"]),
        ("heads: 4", "heads: 4.5", ["model.heads:", "got 4.5"]),
        ("heads: 4", "heads: null", ["model.heads:", "got None"]),
        ("tie: true", "tie: no", ["model.tie:", "valid boolean", "got 'no'"]),
        ("[0.9, 0.98]", "[0.9]", ["model.betas"]),
        ("heads: 4", "heads: 3", ["model: heads must divide d_model, got heads 3 and d_model 256"]),
        ("  inner:\n    rate: 1e-05\n", "  inner: 3\n", ["model.inner:", "got 3"]),
    ],
)
def test_a_fault_is_one_line_with_its_path(
    tmp_path: Path, old: str, new: str, parts: list[str]
) -> None:
    assert old in GOOD
    line = fault(tmp_path, GOOD.replace(old, new))
    for part in parts:
        assert part in line


def test_all_faults_are_told_together(tmp_path: Path) -> None:
    text = GOOD.replace("heads: 4", "heads: x").replace("tie: true", "tie: 3") + "  extra: 1\n"
    line = fault(tmp_path, text)
    assert all(name in line for name in ("model.heads", "model.tie", "model.extra"))


def test_a_missing_section_names_those_there(tmp_path: Path) -> None:
    line = fault(tmp_path, "train: {}\nscore: {}\n")
    assert "model: no model among train, score" in line


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("model:\n  heads: [1\n", "params.yaml:"),
        ("model:\n heads: 1\n  d: 2\n", "params.yaml:3"),
        ("a: 1\na: 2\n", "params.yaml:2"),
        ("- 1\n", "list"),
        ("", "NoneType"),
        ("model: {heads: \x01}\n", "params.yaml"),
    ],
)
def test_broken_yaml_is_one_line(tmp_path: Path, text: str, part: str) -> None:
    assert part in fault(tmp_path, text)


def test_a_file_that_is_not_utf8_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_bytes("model: 爱\n".encode("gb18030"))
    with pytest.raises(ParamsError, match="UTF-8") as caught:
        read_params(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ParamsError, match="no such file"):
        read_params(tmp_path / "params.yaml")


def test_a_section_that_is_no_mapping_is_one_line() -> None:
    with pytest.raises(ParamsError, match="model"):
        parse("model", Outer, None)


def test_configs_are_frozen_and_by_keyword() -> None:
    made = Inner(rate=1.0)
    with pytest.raises(AttributeError):
        made.rate = 2.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        Inner(1.0)  # type: ignore[misc]


def test_flatten_keeps_what_is_empty() -> None:
    assert flatten({}) == {}
    assert flatten({"a": {"b": {}, "c": []}}) == {"a.b": {}, "a.c": []}
    assert flatten(read_params())["decode.terms"] == {}


def test_flatten_gives_dotted_names() -> None:
    nested = {"a": {"b": 1, "c": {"d": "x"}}, "e": [1, 2]}
    assert flatten(nested) == {"a.b": 1, "a.c.d": "x", "e": [1, 2]}


def test_shared_range_checks() -> None:
    at_least("layers", 1, 1)
    one_of("norm", "pre", ("pre", "post"))
    for value in (0, float("nan")):
        with pytest.raises(ValueError, match=f"layers must be at least 1, got {value}"):
            at_least("layers", value, 1)
    with pytest.raises(ValueError, match="norm must be one of pre, post, got none"):
        one_of("norm", "none", ("pre", "post"))


def test_a_section_that_nothing_reads_is_refused_with_the_list(tmp_path: Path) -> None:
    line = fault(tmp_path, GOOD + "modle: {heads: 8}\n")
    assert "unknown section modle" in line
    assert "languages, fetch, prepare" in line


def test_one_value_is_read_by_its_dotted_path(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(GOOD, encoding="utf-8")
    assert load_section("model.inner.rate", float, path) == 1e-05
    with pytest.raises(ParamsError, match=r"model\.norm: .*integer"):
        load_section("model.norm", int, path)
    with pytest.raises(ParamsError, match=r"model\.inner\.beta: no beta among rate"):
        load_section("model.inner.beta", float, path)
    with pytest.raises(ParamsError, match=r"model\.tie\.knot: no knot among nothing"):
        load_section("model.tie.knot", float, path)
