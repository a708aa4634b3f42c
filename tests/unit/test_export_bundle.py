"""A bundle translates as the project does, is the same bytes each time, and is whole or not."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml as readers_of_1_1
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from hanyi.artifacts import digest_path
from hanyi.card import card_of
from hanyi.errors import ArtifactError, ParamsError
from hanyi.export.bundle import MEANT, bundle_digest, write_bundle
from hanyi.params import read_params
from hanyi.plain_yaml import plain_yaml
from hanyi.translator import Translator, find_model
from tests.models import save_tiny_model, tiny_tokenizers

CARD = "---\nlicense: mit\n---\n# A model\n"
TEXTS = ["我爱你。", "", "你好吗？他们很好。" * 4]


@pytest.fixture
def project(tmp_path: Path, root: Path) -> Path:
    """Give a project with a tiny model and the parameters of this one."""
    made = tmp_path / "project"
    save_tiny_model(made / "models/transformer", *tiny_tokenizers(made / "models/tokenizers"))
    shutil.copy(root / "params.yaml", made)
    return made


def test_a_bundle_translates_as_the_project(project: Path, tmp_path: Path) -> None:
    params = project / "params.yaml"
    changed = params.read_text(encoding="utf-8").replace("beam_size: 4", "beam_size: 2")
    params.write_text(changed.replace("form: NFC}", "form: NFKC}"), encoding="utf-8")
    bundle = tmp_path / "bundle"
    write_bundle(find_model(project), bundle, CARD)
    assert sorted(path.name for path in bundle.iterdir()) == [
        "README.md", "params.yaml", "tokenizers", "transformer",
    ]  # fmt: skip
    assert read_params(bundle / "params.yaml") == {
        name: read_params(params)[name] for name in ("languages", "prepare", "decode")
    }
    here, there = (Translator.load(path, device="cpu") for path in (project, bundle))
    assert there.config == here.config
    assert there.config.beam_size == 2
    texts = [*TEXTS, "Ｉ"]
    assert there.translate(texts) == here.translate(texts)
    assert card_of(find_model(bundle)) == CARD
    with pytest.raises(ParamsError, match="--license"):  # which its card has not
        card_of(find_model(bundle), "MIT")


def test_equal_inputs_give_equal_bytes(project: Path, tmp_path: Path) -> None:
    bundles = [tmp_path / name for name in ("one", "two", "three")]
    for bundle in bundles[:2]:
        write_bundle(find_model(project), bundle, CARD)
    write_bundle(find_model(bundles[0]), bundles[2], CARD)
    assert len({digest_path(bundle) for bundle in bundles}) == 1


def test_the_digest_is_of_what_translates(project: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    write_bundle(find_model(project), bundle, CARD)
    seen = {bundle_digest(bundle)}
    (bundle / "README.md").write_text("another", encoding="utf-8")
    assert bundle_digest(bundle) in seen
    for name in MEANT:
        (bundle / name).write_bytes((bundle / name).read_bytes() + b" ")
        seen.add(bundle_digest(bundle))
    assert len(seen) == 1 + len(MEANT)


def test_an_older_bundle_is_replaced_and_nothing_else(project: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    write_bundle(find_model(project), bundle, CARD)
    write_bundle(find_model(project), bundle, "newer")
    assert (bundle / "README.md").read_text(encoding="utf-8") == "newer"
    other = tmp_path / "other"
    other.mkdir()
    (other / "README.md").write_text("mine", encoding="utf-8")
    (bundle / "notes.txt").write_text("mine", encoding="utf-8")
    for target in (other, bundle, bundle / "notes.txt"):
        before = digest_path(target)
        with pytest.raises(ArtifactError, match="expected a new or empty folder"):
            write_bundle(find_model(project), target, CARD)
        assert digest_path(target) == before


@pytest.mark.parametrize("what", ["weights", "no weights", "tokenizer", "params", "ensemble"])
def test_what_does_not_fit_makes_no_bundle(project: Path, tmp_path: Path, what: str) -> None:
    weights = project / "models/transformer/weights.safetensors"
    params = project / "params.yaml"
    match = {
        "weights": "weights.safetensors: digest",
        "no weights": "weights.safetensors: no such file",
        "tokenizer": "trained with src tokenizer",
        "params": "decode: beam_size must be at least 1",
        "ensemble": "decode.ensemble: 1 more models, expected none",
    }[what]
    folder = find_model(project)
    if what == "weights":
        weights.write_bytes(weights.read_bytes() + b"\0")
    elif what == "no weights":
        weights.unlink()
    elif what == "tokenizer":
        shutil.copy(folder.tokenizers / "tgt.json", folder.tokenizers / "src.json")
    else:
        old, new = {
            "params": ("beam_size: 4", "beam_size: 0"),
            "ensemble": ("ensemble: []", "ensemble: [models/other]"),
        }[what]
        params.write_text(params.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises((ArtifactError, ParamsError), match=match):
        write_bundle(folder, tmp_path / "bundle", CARD)
    assert [path.name for path in tmp_path.iterdir()] == ["project"]


def test_outside_a_project_there_are_no_parameters(tmp_path: Path) -> None:
    save_tiny_model(tmp_path / "model", *tiny_tokenizers(tmp_path / "tokenizers"))
    write_bundle(find_model(tmp_path / "model"), tmp_path / "bundle", CARD)
    assert not (tmp_path / "bundle/params.yaml").exists()
    here, there = (Translator.load(tmp_path / name, device="cpu") for name in ("model", "bundle"))
    assert there.translate(TEXTS) == here.translate(TEXTS)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(["no", "on", "y", "~", "1e-05", "1:30", ".inf", "2001-01-01", "=", "<<"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), VALUES, max_size=5))
def test_plain_values_come_back_in_both_versions_of_yaml(values: dict[str, Any]) -> None:
    text = plain_yaml(values)
    assert YAML(typ="safe", pure=True).load(text) == values
    assert readers_of_1_1.safe_load(text) == values
    assert plain_yaml(values) == text


def test_numbers_keep_their_kind() -> None:
    values = {"a": 1e-05, "b": math.inf, "c": -math.inf, "d": 1.0, "e": 1, "f": "1", "g": 1e22}
    for back in (YAML(typ="safe", pure=True).load(plain_yaml(values)),
                 readers_of_1_1.safe_load(plain_yaml(values))):  # fmt: skip
        assert {key: type(value) for key, value in back.items()} == {
            key: type(value) for key, value in values.items()
        }
