"""The list of rules in params.yaml: what is read, and what a fault says."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from hanyi.corpus.cleaning.config import PrepareConfig, repairer
from hanyi.corpus.cleaning.rules import FILTERS, REPAIRS
from hanyi.errors import ParamsError
from hanyi.params import load_section, parse

ROOT = Path(__file__).resolve().parents[2]
CHARS = {"rule": "chars", "least": 1, "most": 9}
VALUES: dict[str, Any] = {
    "rules": [{"rule": "empty"}, CHARS],
    "duplicates": "folded",
    "near_duplicates": None,
    "leaks": {"near": 0.8},
    "split": {"valid": 2, "test": 3, "seed": 1},
}


def test_rules_are_read_by_name_and_in_order() -> None:
    found = parse("prepare", PrepareConfig, VALUES)
    assert [rule.rule for rule in found.rules] == ["empty", "chars"]
    assert parse("prepare", PrepareConfig, VALUES | {"rules": []}).rules == ()
    twice = [CHARS, CHARS | {"most": 5}]
    assert len(parse("prepare", PrepareConfig, VALUES | {"rules": twice}).rules) == 2


def test_names_are_those_of_the_classes() -> None:
    for name, kind in (REPAIRS | FILTERS).items():
        assert name == "".join(f"_{c.lower()}" if c.isupper() else c for c in kind.__name__)[1:]
        assert get_args(kind.__annotations__["rule"]) in {(name,), ()}
    assert not set(REPAIRS) & set(FILTERS)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([CHARS, {"rule": "chars", "least": 1}], "prepare.rules.1.most: missing"),
        ([CHARS | {"many": 3}], "prepare.rules.0.many: unknown key"),
        ([CHARS | {"most": "x"}], "prepare.rules.0.most: input should be a valid integer, got 'x'"),
        ([CHARS | {"most": 0}], "prepare.rules.0: least must be at most most, got least 1 and"),
        ([{"rule": "chas"}], "prepare.rules.0.rule: must be one of unicode, entities, "),
        ([{"rule": "chas"}], "got chas"),
        ([{"least": 1}], "prepare.rules.0.rule: missing"),
        (["empty"], "prepare.rules.0: input should be an object, got 'empty'"),
        (None, "prepare.rules: input should be a valid array, got None"),
        ([CHARS, {"rule": "empty"}, CHARS], "rules.2 (chars) is the same as rules.0"),
        ([{"rule": "unicode", "form": "NFX"}], "prepare.rules.0.form: input should be 'NFC' or"),
        ([{"rule": "script", "share": 0}], "prepare.rules.0: share must be above 0"),
        ([{"rule": "unsegment", "share": 2}], "prepare.rules.0: share must be above 0"),
        ([{"rule": "ratio", "least": float("nan"), "most": 1}], "prepare.rules.0"),
        ([{"rule": "repeats", "most": 0}], "prepare.rules.0: most must be at least 1, got 0"),
        ([{"rule": "numbers", "digits": 0}], "prepare.rules.0: digits must be at least 1, got 0"),
        (
            [{"rule": "script", "share": 0.3}, {"rule": "swapped", "share": 0.3}],
            "swapped must stand before script",
        ),
    ],
)
def test_a_fault_of_a_rule_is_one_line_with_its_path(rules: object, expected: str) -> None:
    with pytest.raises(ParamsError) as caught:
        parse("prepare", PrepareConfig, VALUES | {"rules": rules})
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("duplicates", "fuzzy", ["prepare.duplicates", "'exact', 'folded' or 'none'", "fuzzy"]),
        ("near_duplicates", 2, ["near_duplicates must be", "2"]),
        ("leaks", {"near": 0}, ["prepare.leaks", "near must be", "0"]),
        ("leaks", {}, ["prepare.leaks.near: missing"]),
        ("split", {"valid": -1, "test": 1, "seed": 1}, ["prepare.split", "-1"]),
        ("split", {"valid": 1, "tset": 1, "seed": 1}, ["prepare.split.tset"]),
    ],
)
def test_bad_parameters(key: str, value: object, words: list[str]) -> None:
    with pytest.raises(ParamsError) as caught:
        parse("prepare", PrepareConfig, VALUES | {key: value})
    for word in words:
        assert word in str(caught.value)


def test_the_default_list_mends_what_it_can_first() -> None:
    config = load_section("prepare", PrepareConfig, ROOT / "params.yaml")
    names = [rule.rule for rule in config.rules]
    assert "empty" in names
    assert names.index("markup") > names.index("entities") < names.index("spaces")
    repair = repairer(config.rules)
    text = "\ufeff&amp;quot;我<i>喜欢</i>&nbsp;\u200b 猫&amp;quot; &#10;"
    assert repair(text) == '"我喜欢 猫"'
