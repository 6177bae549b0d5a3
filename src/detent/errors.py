"""The exception tree: one root, one leaf per thing that a caller can do about it.

    DetentError
    ├── ArgumentError (also ValueError)   an argument is wrong: correct the call
    ├── PatternSyntaxError                a source text is malformed: correct it at `position`
    │   └── SchemaError                   a JSON Schema is malformed: correct it at `pointer`
    ├── UnsupportedError                  well formed, but not expressible: write what the message says instead
    │   └── UnsupportedSchemaError        a keyword of a JSON Schema cannot be held exactly: see `pointer`, `keyword`
    ├── EmptyLanguageError                nothing satisfies the rule, or the vocabulary cannot write it
    ├── LimitError                        a limit was reached: raise `subject` above `limit`, or simplify
    ├── CancelledError                    the caller's `CancellationToken` was set
    ├── BusyError                         one matcher used by two threads at once: give each its own (`fork`)
    ├── StateError                        a token or call that the present state does not allow
    ├── VocabularyError                   a tokenizer that cannot be read exactly
    ├── SavedFileError                    a saved file that is damaged, or of another kind or version: save it again
    ├── ModelError                        a model that cannot be run: wrong files, shapes or logits
    └── OutputValueError                  a generated text without a value: `output` has the text and the report

Every message says what was asked, what was found, where, and what to do; it is at most 512 bytes long. The facts of
a message are attributes too. Errors of one type, message and attributes are equal; copies and pickles keep all three.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "ArgumentError",
    "BusyError",
    "CancelledError",
    "DetentError",
    "EmptyLanguageError",
    "LimitError",
    "ModelError",
    "OutputValueError",
    "PatternSyntaxError",
    "SavedFileError",
    "SchemaError",
    "SchemaWarning",
    "StateError",
    "UnsupportedError",
    "UnsupportedSchemaError",
    "VocabularyError",
]

MAX_MESSAGE_BYTES = 512


class DetentError(Exception):
    """Root of all errors that detent raises on purpose.

    Attributes
    ----------
    code : str
        A stable machine-readable name of the kind of error, such as ``"limit"``.
    position : int or None
        The index of the wrong character in the source text, from 0; None if the error has no source text.
    line, column : int or None
        The same position as a line and a column of it, from 1.
    """

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, position: int | None = None, source: str | None = None) -> None:
        super().__init__(clip(message))
        self.position = position
        self.line: int | None = None
        self.column: int | None = None
        if source is not None and position is not None:
            self.line = source.count("\n", 0, position) + 1
            self.column = position - source.rfind("\n", 0, position)

    def prefixed(self, subject: str) -> Self:
        """Return the same error with a subject before its message: the function or file that it is about."""
        changed = copy(self)
        changed.args = (clip(f"{subject}: {self}"),)
        return changed

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.args == other.args and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), self.args))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args), self.__dict__


def _restore(kind: type[DetentError], arguments: tuple[Any, ...]) -> DetentError:
    """Make an error without a call of its constructor, whose arguments differ from class to class."""
    return kind.__new__(kind, *arguments)


class ArgumentError(DetentError, ValueError):
    """An argument has the wrong type, shape or value."""

    code = "argument"


class PatternSyntaxError(DetentError):
    """A pattern, schema or grammar is malformed; `position`, `line` and `column` say where."""

    code = "syntax"


class UnsupportedError(DetentError):
    """A construct is well formed but cannot be held exactly; the message names a remedy."""

    code = "unsupported"


class SchemaError(PatternSyntaxError):
    """A JSON Schema is malformed.

    Attributes
    ----------
    pointer : str
        JSON pointer of the schema that is wrong.
    keyword : str
        The keyword that is wrong, or "" if it is the schema as a whole.
    """

    code = "schema_syntax"

    def __init__(self, message: str, *, pointer: str = "", keyword: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer
        self.keyword = keyword


class UnsupportedSchemaError(UnsupportedError):
    """A keyword of a JSON Schema cannot be held exactly; nothing is weakened instead.

    Attributes
    ----------
    pointer : str
        JSON pointer of the schema that has the keyword.
    keyword : str
        The keyword.
    reason, remedy : str
        Why it cannot be held, and what to write instead.
    """

    code = "unsupported_schema"

    def __init__(self, pointer: str, keyword: str, reason: str, remedy: str) -> None:
        mark = "\n" if "\n" in reason else "; "  # the reason may end in a line that points into a pattern
        super().__init__(f"{keyword} at {pointer or 'the root'}: {reason}{mark}{remedy}")
        self.pointer = pointer
        self.keyword = keyword
        self.reason = reason
        self.remedy = remedy


class SchemaWarning(UserWarning):
    """Something in a JSON Schema has no effect: an unknown format, or what `lenient=True` has dropped."""


class EmptyLanguageError(DetentError):
    """No text satisfies the rule, or the vocabulary cannot write any that does."""

    code = "empty"


class LimitError(DetentError):
    """A limit was reached; the message says which, what was asked, and how to raise it.

    >>> import dataclasses, detent
    >>> limits = detent.Limits(depth=2)
    >>> try:
    ...     detent.regex("(((a)))", limits=limits)
    ... except detent.LimitError as error:
    ...     error.subject, error.limit
    ('depth', 2)

    Attributes
    ----------
    subject : str
        What is limited: a field of `Limits` such as ``"states"``, an argument such as ``"max_tokens"``, or a
        fixed limit such as ``"repeat_count"``.
    limit : int or None
        The largest value allowed.
    given : int or None
        The value asked for, or None if the work stopped before it was known.
    """

    code = "limit"

    def __init__(
        self,
        message: str,
        *,
        subject: str,
        limit: int | None = None,
        given: int | None = None,
        position: int | None = None,
        source: str | None = None,
    ) -> None:
        super().__init__(message, position=position, source=source)
        self.subject = subject
        self.limit = limit
        self.given = given


class CancelledError(DetentError):
    """The work was cancelled by the caller."""

    code = "cancelled"


class BusyError(DetentError):
    """A matcher was used from two threads at once."""

    code = "busy"


class StateError(DetentError):
    """The present state does not allow the token or the call; the state is as it was."""

    code = "state"


class VocabularyError(DetentError):
    """A tokenizer cannot be mapped to bytes exactly."""

    code = "vocabulary"


class SavedFileError(DetentError):
    """A saved file is damaged, or of another kind, version or machine."""

    code = "saved_file"


class ModelError(DetentError):
    """A model cannot be loaded or run, or gave logits that cannot be sampled."""

    code = "model"


class OutputValueError(DetentError):
    """The conversion of a generated text to its value raised: a validator of pydantic, for example.

    Attributes
    ----------
    output : Output
        The text, its tokens and its report; nothing of it is lost.
    """

    code = "output_value"

    def __init__(self, message: str, *, output: Any) -> None:
        super().__init__(message)
        self.output = output


def clip(message: str) -> str:
    """Return a message of at most `MAX_MESSAGE_BYTES`: its beginning and its end if it is longer."""
    raw = message.encode("utf-8", "backslashreplace")
    if len(raw) <= MAX_MESSAGE_BYTES:
        return raw.decode("utf-8")
    half = (MAX_MESSAGE_BYTES - len(" … ".encode())) // 2
    return raw[:half].decode("utf-8", "ignore") + " … " + raw[-half:].decode("utf-8", "ignore")


# What the core throws: a kind, a subject and two numbers (cpp/base/error.h). The sentences live here.
_CORE_KINDS: dict[str, type[DetentError]] = {
    "argument": ArgumentError,
    "unsupported": UnsupportedError,
    "empty": EmptyLanguageError,
    "limit": LimitError,
    "cancelled": CancelledError,
    "busy": BusyError,
    "state": StateError,
    "vocabulary": VocabularyError,
}
_CORE_SENTENCES: dict[tuple[str, str], str] = {
    (
        "argument",
        "assertion_outside_scope",
    ): "a lookaround node stands outside a text scope; wrap the whole in text_scope",
    ("argument", "bytes"): "advance_bytes needs bytes; encode text as UTF-8 first",
    ("argument", "byte_pieces"): "a tokenizer has {given} byte pieces; give all {limit} or none",
    ("argument", "character_class"): "class {given} of characters is not below their number, {limit}",
    ("argument", "character_ranges"): "ranges of characters must begin at 0 and rise",
    ("argument", "encoder_size"): "the tokenizer has {given} ids, but the vocabulary has {limit}",
    ("argument", "draft_parent"): (
        "node {given} of the draft tree has the parent {limit}; a parent is -1 (the sequence) or an earlier node"
    ),
    ("argument", "draft_sizes"): "a draft tree needs one parent and one verdict for each token",
    ("argument", "merge"): "token id {given} of a merge or symbol is not below the number of ids, {limit}",
    ("argument", "merges"): "entry {given} is not two tokens that join to a third",
    ("argument", "no_token"): "the text has a character that the tokenizer has no token for",
    ("argument", "not_text"): "the bytes are not UTF-8 text, and only text is tokenized",
    ("argument", "numbers"): "a row of numbers must have 4 bytes for each",
    ("argument", "split_program"): "a program of the split jumps out of itself",
    ("argument", "code_point"): "code point {given} is above U+10FFFF",
    ("argument", "code_point_range"): "code point range is reversed: {given} is above {limit}",
    ("argument", "mask_rows"): "the mask has {given} rows, but there are {limit} matchers; give one row for each",
    ("argument", "wait"): "the seconds to wait must be from 0 to 3600",
    ("argument", "mask_slots"): (
        "{limit} sequences need {limit} slots and one that allows nothing, but there are {given}; give more rows"
    ),
    ("argument", "mask_words"): (
        "the mask row has {given} words of 32 bits, but the vocabulary needs {limit}; use detent.mask.allocate_mask"
    ),
    ("argument", "item_kinds"): "a list has items of {given} kinds, above the limit of {limit}; join some of them",
    ("argument", "item_order"): "an order of kinds is a regular language without lists; give such a one",
    ("argument", "node_bytes"): "not the bytes of a language, or damaged ones, at byte {given} of {limit}",
    ("argument", "nullable_member"): "member {given} of an unordered list may be empty; give one that has a byte",
    ("argument", "open_reference"): "a reference stands outside a grammar; wrap the definitions in grammar(...)",
    ("argument", "plain_schemas"): "a reader of plain schemas needs each text of the notation, and four lists of names",
    ("argument", "reference"): "reference {given} is to none of the {limit} definitions",
    ("argument", "automaton_state"): "state {given} is none that the automaton has returned",
    ("argument", "logits"): "the type code or the shapes of logits and mask do not fit each other",
    ("argument", "logits_width"): (
        "the logits have {given} ids, but the mask allows id {limit}: they are another model's; make the mask with the "
        "vocabulary of the model"
    ),
    ("argument", "merge_states"): "the arrays of an automaton do not fit each other",
    ("argument", "transitions"): "the tokenizer's tables are for another vocabulary",
    ("argument", "token_dfa"): "the arrays of a token DFA do not fit each other or the vocabulary",
    ("argument", "token_dfa_state"): "state {given} is none of the token DFA's {limit}",
    ("argument", "unordered"): "{given} marks for {limit} members",
    ("argument", "rollback"): "rollback needs a number of steps from 0 on, got {given}",
    ("argument", "repeat"): "a repeat of at least {given} and at most {limit} times is impossible",
    ("busy", "mask_slots"): "the mask slots are in use by another thread; give each thread its own",
    ("busy", "matcher"): "the matcher is in use by another thread; give each thread its own with fork()",
    ("cancelled", "work"): "cancelled by the caller",
    ("empty", "language"): "no text satisfies the rule; it asks for things that exclude each other",
    ("empty", "canonical"): (
        "no text of the language is made of the tokenizer's own tokens: each has bytes that are no text to it"
    ),
    ("empty", "after"): (
        "no text of the language goes on from the prompt's last tokens as the tokenizer would write both; take the "
        "prompt's end back into the language with vocabulary.heal, or leave out prompt_tokens="
    ),
    ("empty", "tokenizable"): (
        "no text of the language can be written with the vocabulary's tokens: it lacks bytes that every text needs"
    ),
    ("limit", "depth"): "nesting {given} deep, above the limit of {limit}; flatten the pattern",
    ("limit", "expressions"): "{given} expressions, above the fixed limit of {limit}; simplify the pattern",
    ("limit", "max_tokens"): "no text of the language can be written in {limit} tokens",
    ("limit", "part_tokens"): (
        "thinking_tokens={limit} is too few: the shortest thinking takes {given} tokens with its tags; raise "
        "thinking_tokens to at least {given}"
    ),
    ("limit", "memory_bytes"): (
        "the constraint needs {given} bytes, above the limit of {limit}; simplify it or raise Limits(memory_bytes=...)"
    ),
    (
        "limit",
        "repeat_count",
    ): "a repeat count of {given} is above the largest, {limit}; use an open repeat such as {{n,}}",
    ("limit", "nested_repeat_count"): (
        "repeats of repeats count to {given}, above the largest count, {limit}; use an open repeat such as {{n,}} for "
        "one of them"
    ),
    ("limit", "states"): (
        "the constraint needs {given} automaton states, above the limit of {limit}; "
        "simplify it or raise Limits(states=...)"
    ),
    ("limit", "compiled_bytes"): (
        "the rule alone takes {given} bytes, and decoding needs room beside it: above a quarter of the limit of "
        "{limit}; simplify it or raise Limits(memory_bytes=...)"
    ),
    ("limit", "compiled_states"): (
        "the rule alone takes {given} automaton states, and decoding needs room beside it: above a quarter of the "
        "limit of {limit}; simplify it or raise Limits(states=...)"
    ),
    ("limit", "compiled_work"): (
        "compiling the rule, or a mask of its first steps, takes over {limit} units of work; simplify it or raise "
        "Limits(work=...)"
    ),
    ("limit", "completion"): (
        "the shortest known completion takes {given} bytes, and those over {limit} are not written out; ask for "
        "shorter texts"
    ),
    ("limit", "work"): "a step of the rule takes over {limit} units of work; simplify it or raise Limits(work=...)",
    ("limit", "question_work"): (
        "the question takes over {limit} units of work; ask about a simpler language, or for shorter texts"
    ),
    (
        "state",
        "budget",
    ): "token id {given} leaves no way to complete the text in the {limit} tokens left; the state is unchanged",
    (
        "state",
        "budget_bytes",
    ): "the {given} bytes leave no way to complete the text in the {limit} tokens left; the state is unchanged",
    ("limit", "table_states"): (
        "there are more states than max_states={limit}; keep to a guide's matcher where a rule calls itself, since its "
        "states have no end; else raise it (in compile: Limits(states=...)) or simplify the constraint"
    ),
    ("limit", "table_bytes"): (
        "the table needs over {given} bytes, above max_bytes={limit}; raise it (in compile: Limits(memory_bytes=...)), "
        "simplify the constraint, or keep to a guide's matcher"
    ),
    ("state", "bytes"): "the {given} bytes lead out of the language; the state is unchanged",
    ("state", "early_end"): "end-of-text (token id {given}) before the text is complete; the state is unchanged",
    ("state", "finished"): "the matcher has consumed end-of-text; roll back or start a new one",
    ("state", "not_canonical"): (
        "token id {given} leaves the tokenizer's own tokens: no text of the language is tokenized so; "
        "the state is unchanged"
    ),
    ("state", "no_text"): "token id {given} is special or has no text, so no rule allows it; the state is unchanged",
    ("state", "rollback"): "cannot roll back {given} steps: {limit} were taken",
    ("state", "token"): "token id {given} leads out of the language; the state is unchanged",
    ("state", "token_id"): "token id {given} is outside the vocabulary of {limit} ids; the state is unchanged",
    ("unsupported", "assertion_under_algebra"): (
        "a lookaround inside a complement or intersection of the same text scope has no exact meaning here; "
        "give the operand its own scope"
    ),
    ("unsupported", "merged_bytes"): (
        "the tokenizer merges byte piece {given}; byte pieces are known to stay by themselves only"
    ),
    ("unsupported", "unsplit_bytes"): (
        "token {given} of the tokenizer has a byte that is no token itself, and ignore_merges writes it nevertheless"
    ),
    ("unsupported", "empty_split"): (
        "a regular expression of the tokenizer's split may match nothing, so where some texts are split is not known"
    ),
    ("unsupported", "split_states"): (
        "the tokenizer's split needs over {limit} states; only the splits of known tokenizers are held exactly"
    ),
    ("unsupported", "canonical_bytes"): (
        "advance_bytes takes bytes without saying which tokens they are, and with canonical=True what may follow "
        "depends on these; advance by vocabulary.encode_canonical's tokens"
    ),
    ("unsupported", "token_dfa_bytes"): (
        "advance_bytes takes bytes without saying which tokens they are, and a table knows tokens only; "
        "advance by tokens"
    ),
    ("unsupported", "left_recursion"): "rule {given} may call itself before it reads a byte; remove left recursion",
    ("unsupported", "open_reference"): (
        "a complement, intersection, assertion or string of a grammar's own rules has no least meaning; "
        "use it on closed languages only"
    ),
    ("unsupported", "special_meet"): (
        "an intersection of special tokens with assertions, JSON strings or longest matches is not known; "
        "intersect the parts between the special tokens, and join these"
    ),
    ("unsupported", "rules_under_algebra"): (
        "an intersection or complement of grammars inside a grammar that is intersected again cannot be decided; "
        "combine the languages in one step"
    ),
    ("unsupported", "distinct_ambiguous"): (
        "two lists of distinct items over the same text began at different items; begin them together"
    ),
    ("unsupported", "distinct_canonical_budget"): (
        "how many canonical tokens complete lists of unique items, or of counted members, is not known; write "
        "canonical=False, or leave out max_tokens, uniqueItems or minProperties"
    ),
    ("unsupported", "distinct_few_names"): (
        "counted members need names without number; declare the few names that there are"
    ),
    ("unsupported", "distinct_gaps"): (
        "a completion with unique items or counted members takes a byte that is no token of its own; leave out "
        "max_tokens, uniqueItems or minProperties"
    ),
    ("unsupported", "distinct_keys"): (
        "of the {given} distinct items that a list asks for, a search found {limit} only; ask for fewer items"
    ),
    ("unsupported", "distinct_nested"): (
        "lists of unique items inside unique items that may have few values; leave out one of the two uniqueItems"
    ),
    ("unsupported", "distinct_recursive"): (
        "a list of at least {given} unique items that contain the list itself; leave out uniqueItems or minItems there"
    ),
    ("unsupported", "distinct_under_algebra"): (
        "a list of unique items or counted members cannot be a part of &, - or ~, nor of a comparison, a lookaround or "
        "a ban: its texts are compared as they are written; write the condition into the schema of its items, as a "
        "pattern or not"
    ),
    ("unsupported", "distinct_values"): "an item of a list of unique items must be a JSON value",
    ("unsupported", "loop_in_lookbehind"): "an unbounded loop with assertions inside a lookbehind; bound the loop",
    ("vocabulary", "saved_trie"): "the saved trie is not that of the tokens",
    ("vocabulary", "size"): "a vocabulary of {given} ids is above the largest size, {limit}",
    ("vocabulary", "token_bytes"): "a token of {given} bytes is above the longest, {limit}",
    ("vocabulary", "token_ends"): "the tokens' ends do not rise, or pass the end of their bytes, at {given}",
    ("vocabulary", "token_id"): "token id {given} is outside the vocabulary of {limit} ids",
    ("vocabulary", "tokens"): "{given} tokens do not fit into a vocabulary of size {limit}; raise size",
    ("vocabulary", "trie_nodes"): "the tokens need {given} trie nodes, above the limit of {limit}",
}


# The core's names of limits that are arguments in Python.
_SUBJECTS = {"table_states": "max_states", "table_bytes": "max_bytes"}


def from_core(kind: str, subject: str, given: int, limit: int) -> DetentError:
    """Compose the exception for an error that the core has thrown; the binding calls this."""
    sentence = _CORE_SENTENCES[kind, subject]
    message = sentence.format(given=given, limit=limit)
    if kind == "limit":
        name = _SUBJECTS.get(subject, subject)
        return LimitError(message, subject=name, limit=limit, given=given if "{given}" in sentence else None)
    return _CORE_KINDS[kind](message)
