"""A trained model in plain use: found by its name, loaded, asked."""

from hanyi.translator.folders import ModelFolder
from hanyi.translator.results import Alternative, Attention, Result
from hanyi.translator.settings import best_only, read_settings
from hanyi.translator.sources import find_model, model_at
from hanyi.translator.stream import Stream
from hanyi.translator.translator import Translator

__all__ = [
    "Alternative",
    "Attention",
    "ModelFolder",
    "Result",
    "Stream",
    "Translator",
    "best_only",
    "find_model",
    "model_at",
    "read_settings",
]
