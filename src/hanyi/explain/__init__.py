"""What a model does with a sentence: as data that is the model's own, and as one page."""

from hanyi.explain.document import compact, page
from hanyi.explain.model import describe
from hanyi.explain.sentence import explain

__all__ = ["compact", "describe", "explain", "page"]
