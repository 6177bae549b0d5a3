"""The tasks of the embedded model's corpus; ``write_corpus.py`` draws rows from them."""
