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
    pointer : str or None
        JSON pointer of the schema that reached the limit, if it is known.
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
        self.pointer: str | None = None

    def at(self, pointer: str) -> Self:
        """Return the same error with the JSON pointer of the schema that it is about."""
        located = self.prefixed(f"at {pointer or 'the root'}")
        located.pointer = pointer
        return located


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
