"""A model of transformers: banned words, forms, beams, and many texts at once.

The model is the one that comes with detent, loaded by transformers, so that this runs offline; any causal model will
do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import detent
from detent.models import Transformers


def load(folder: Path) -> Transformers:
    """Load a folder of a model, as `from_pretrained` takes it, with the tokenizer of a chat model."""
    import torch
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
    from transformers.utils import logging

    quiet: Any = logging.disable_progress_bar
    quiet()
    model: Any = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
    make: Any = PreTrainedTokenizerFast
    tokenizer = make(tokenizer_file=str(folder / "tokenizer.json"), eos_token="<|end|>")
    tokenizer.chat_template = "{% for turn in messages %}<|user|>{{ turn.content }}<|assistant|>{% endfor %}"
    return Transformers(model.eval(), tokenizer, chat=True)


def main() -> None:
    """Ask a lonely user's question without two words, and several questions together."""
    model = load(Path(detent.__file__).parent / "models" / "weights")
    question, words = "Can we talk?", ["talk", "listen"]
    plain = detent.generate(model, question, temperature=0)
    print(f"As the model likes:  {plain.text!r}")
    out = detent.generate(model, question, temperature=0, ban=detent.Ban(words, ignore_case=True))
    print(f"Without the words:   {out.text!r}")
    print(
        f"  going back from {out.report.rewinds[0].word!r} cost {out.report.model_calls - len(out.report.steps)} passes"
    )

    # Two texts, the likeliest that the model has without the word, by its own probabilities.
    for found in detent.analysis.beam_search(model, question, ban=["listen"], num_beams=4, count=2):
        print(f"  {found.report.log_probability:6.2f}  {found.text!r}")

    # Each row has a language of its own; one pass of the model reads all of them.
    members = {"name": {"type": "string"}, "age": {"type": "integer"}}
    schema = {"type": "object", "properties": members, "required": ["name", "age"], "additionalProperties": False}
    rows = detent.generate_batch(
        model,
        [
            detent.Request("Write 7 March 2021 as an ISO date.", detent.date(), temperature=0),
            detent.Request("Anna Berg is 34. Write the person as JSON.", detent.json_schema(schema), temperature=0),
            detent.Request(question, ban=words, max_tokens=12, samples=2, seed=0),
        ],
    )
    for row in rows:
        print(f"{row.report.model_calls:3} passes  {row.text!r}")


if __name__ == "__main__":
    main()
