"""What an environment needs to translate, pinned to what is installed here."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from hanyi.errors import ArtifactError

NEEDED = (
    "charset-normalizer",
    "ctranslate2",
    "filelock",
    "langcodes",
    "mlflow",
    "numpy",
    "opencc",
    "pandas",
    "pyarrow",
    "pydantic",
    "ruamel.yaml",
    "safetensors",
    "tokenizers",
    "torch",
    "typing-extensions",
    "xxhash",
)
"""The packages that the translator imports; a test translates without any other."""


def requirements() -> list[str]:
    """Give a line of pip for each package.

    What stands behind a plus (`2.13.0+cpu`) is the build, which another machine may have otherwise.
    """
    return [f"{name}=={_version(name)}" for name in NEEDED]


def _version(name: str) -> str:
    try:
        return version(name).partition("+")[0]
    except PackageNotFoundError:
        raise ArtifactError(name, "not installed", "it beside Hanyi", "run `make`") from None
