"""Errors as OpenAI's API writes them: a status, a message, a type, the field, and a code.

{"error": {"message": "...", "type": "invalid_request_error", "param": "tools[0].function.parameters", "code": null}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from detent.errors import CancelledError, DetentError, LimitError, ModelError, SchemaError, clip

__all__ = ["ApiError", "from_detent", "from_validation"]

_RAISE_LIMITS = re.compile(r",? or raise Limits\([a-z_]+=\.\.\.\)(?: in compile)?")
"""Advice to a program, which a request over HTTP cannot follow."""

_SHOULD_BE = "Input should be "
_OF_TAGS = ("union_tag_not_found", "union_tag_invalid")
_OF_FIELDS = ("unknown_field", "unsupported_field")


class ApiError(Exception):
    """An answer that is an error.

    Attributes
    ----------
    status : int
        The HTTP status.
    message, kind, param, code
        What the body says; `kind` is its "type".
    headers : mapping of str to str
        Headers of the answer, such as Retry-After.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        message = clip(message)  # names and values of a request may be long
        super().__init__(message)
        self.status, self.message, self.kind, self.code = status, message, kind, code
        self.param = None if param is None else clip(param)
        self.headers = dict(headers or {})

    def body(self) -> dict[str, Any]:
        """Return the JSON object of the answer."""
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}}


def from_detent(error: DetentError, param: str | None = None) -> ApiError:
    """Return the answer to an error of the library: the request's fault, unless the model is broken.

    Parameters
    ----------
    error : DetentError
        What was raised.
    param : str, optional
        The field whose value the error is about; the JSON pointer of a schema's error is appended.
    """
    if isinstance(error, CancelledError):
        return ApiError(504, "compiling the rule took too long", kind="timeout_error", param=param, code="timeout")
    if isinstance(error, ModelError):
        return ApiError(500, "the model failed; the log has the error", kind="server_error", code="model_error")
    pointer = getattr(error, "pointer", None) if isinstance(error, SchemaError) else None
    if param is not None and pointer:
        param = f"{param}#{pointer}"
    if isinstance(error, LimitError):  # who sends a request cannot raise the limits
        return ApiError(400, _RAISE_LIMITS.sub("", str(error)), param=param, code="limit_exceeded")
    return ApiError(400, str(error), param=param, code="invalid_value")


def from_validation(error: ValidationError, data: object) -> ApiError:
    """Return the answer to a body whose fields are wrong; the first error is reported, with the number of others.

    Parameters
    ----------
    error : ValidationError
        What pydantic raised.
    data : object
        The body, or None if it is no JSON text.
    """
    errors = error.errors(include_url=False)
    first = min(errors, key=lambda each: (each["type"] not in _OF_FIELDS, -len(each["loc"])))
    is_field = first["type"] in _OF_FIELDS
    location = _location(first, data)
    param = field_path([*location, first["ctx"]["field"]] if is_field else location)
    # A field that may be of several types has an error for each of them.
    here = [first] if is_field else [each for each in errors if _location(each, data) == location]
    said = list(dict.fromkeys(_said(each) for each in here))
    message = " or ".join([said[0], *(each.removeprefix(_SHOULD_BE) for each in said[1:])])
    others = len(errors) - len(here)
    more = f" ({others} more error{'s' if others > 1 else ''})" if others else ""
    where = f"{param}: " if param else ""
    code = "unknown_parameter" if first["type"] == "unknown_field" else "invalid_value"
    return ApiError(400, f"{where}{message}{more}", param=param or None, code=code)


def _location(error: Any, data: object) -> list[int | str]:
    """Return the path of the field that an error is about; of a wrong type, that of the field that names it."""
    path = _in_data(error["loc"], data, is_missing=error["type"] == "missing")
    return [*path, error["ctx"]["discriminator"].strip("'")] if error["type"] in _OF_TAGS else path


def _said(error: Any) -> str:
    if error["type"] == "union_tag_not_found":
        return "Field required"
    if error["type"] == "union_tag_invalid":
        return f"{_SHOULD_BE}{' or '.join(error['ctx']['expected_tags'].rsplit(', ', 1))}, got {error['ctx']['tag']!r}"
    return str(error["msg"])


def _in_data(location: Sequence[int | str], data: object, *, is_missing: bool) -> list[int | str]:
    """Return a location without the names that pydantic adds for the members of a union."""
    path: list[int | str] = []
    for index, part in enumerate(location):
        try:
            data = data[part]  # type: ignore[index]
            path.append(part)
        except (IndexError, KeyError, TypeError):  # no part of the data, but for a missing name at the end
            if is_missing and index == len(location) - 1:
                path.append(part)
    return path


def field_path(location: Sequence[int | str]) -> str:
    """Write a location as OpenAI does.

    >>> field_path(("messages", 0, "content"))
    'messages[0].content'
    """
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path
