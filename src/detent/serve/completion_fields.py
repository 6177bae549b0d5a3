"""CompletionRequest: the body of /v1/completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from detent.serve.chat_fields import RuleFields, StreamOptions
from detent.serve.fields import Body, Inert, Many

__all__ = ["CompletionRequest"]


class CompletionRequest(Body, RuleFields):
    """The body of a plain completion: a text that is continued, without a chat template."""

    unsupported: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "best_of": (1,),
        "frequency_penalty": (0,),
        "presence_penalty": (0,),
        "suffix": ("",),
    }

    prompt: str | Many[str] | Many[StrictInt] | Many[Many[StrictInt]]
    max_tokens: StrictInt = Field(16, ge=1)
    n: StrictInt = Field(1, ge=1)
    echo: StrictBool = False
    stop: str | Many[str] | None = None
    stream_options: StreamOptions | None = None
    logprobs: StrictInt | None = Field(None, ge=0, le=20)
    logit_bias: dict[str, StrictFloat] | None = None

    user: Inert = None
