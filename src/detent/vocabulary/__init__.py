"""Vocabularies: the bytes that each token id of a model stands for, and the loaders that read them from tokenizers."""

from detent.vocabulary.tokenizations import tokenizations
from detent.vocabulary.vocabulary import Vocabulary

__all__ = ["Vocabulary", "tokenizations"]
