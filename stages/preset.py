"""Write a preset's values into params.yaml, comments kept: `python -m stages.preset tatoeba`.

Not a stage of the pipeline: it only edits the parameters that the stages read.
"""

from __future__ import annotations

import io
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from hanyi.artifacts import write_text
from hanyi.errors import ParamsError
from hanyi.params import PARAMS_FILE, read_params
from stages.harness import one_line_errors

PRESETS = Path("presets")


def main(arguments: list[str]) -> None:
    """Merge `presets/NAME.yaml` into params.yaml."""
    names = sorted(path.stem for path in PRESETS.glob("*.yaml"))
    if len(arguments) != 1 or arguments[0] not in names:
        found = " ".join(arguments) or "nothing"
        expected = "one of " + ", ".join(names)
        raise ParamsError("preset", found, expected, "name one: python -m stages.preset NAME")
    read_params()  # tells in one line when params.yaml is missing or broken
    yaml = YAML()
    yaml.width = 1000
    yaml.preserve_quotes = True
    yaml.representer.add_representer(type(None), _null)  # ruamel would leave the value empty
    params = yaml.load(PARAMS_FILE.read_text(encoding="utf-8"))
    merge(params, read_params(PRESETS / f"{arguments[0]}.yaml"))
    text = io.StringIO()
    yaml.dump(params, text)
    write_text(PARAMS_FILE, text.getvalue())
    sys.stdout.write(f"params.yaml now holds presets/{arguments[0]}.yaml; run `dvc repro`\n")


def merge(
    params: MutableMapping[str, Any], changes: MutableMapping[str, Any], path: str = ""
) -> None:
    """Set the values of `changes` in `params`; a key that params does not have is an error."""
    for key, value in changes.items():
        where = f"{path}.{key}".lstrip(".")
        if key not in params:
            raise ParamsError(where, "an unknown key", "one of params.yaml", "mend the preset")
        section = params[key]
        # An empty mapping replaces what is there, any other one is merged into it.
        if isinstance(value, MutableMapping) and isinstance(section, MutableMapping) and value:
            merge(section, value, where)
        else:
            params[key] = value


def _null(representer: Any, _: None) -> Any:
    return representer.represent_scalar("tag:yaml.org,2002:null", "null")


if __name__ == "__main__":
    with one_line_errors("preset"):
        main(sys.argv[1:])
