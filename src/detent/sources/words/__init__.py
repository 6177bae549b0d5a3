"""Words: languages that are given by texts, not by a notation: these ones, any, all with or without some words.

`literals` and `choice` write a text out, `special` names what has none; `containing` finds words anywhere in one. Many
words become one node in which equal beginnings and equal ends are shared (`trie`), so that a state costs what differs
and not what is listed.
"""

from detent.sources.words.choice import choice
from detent.sources.words.containing import containing, without
from detent.sources.words.literals import byte_class, join, literal, text
from detent.sources.words.special import special_token

__all__ = ["byte_class", "choice", "containing", "join", "literal", "special_token", "text", "without"]
