"""Words: languages given by lists of texts.

`literals` and `choice` list texts, `special` names special tokens, and `containing` finds words anywhere in a text. A
list of words becomes one node that shares common prefixes and suffixes (`trie`).
"""

from detent.sources.words.choice import choice
from detent.sources.words.containing import containing, without
from detent.sources.words.literals import byte_class, join, literal, text
from detent.sources.words.special import special_token

__all__ = ["byte_class", "choice", "containing", "join", "literal", "special_token", "text", "without"]
