"""What a model does with a sentence, as data and as one page."""
