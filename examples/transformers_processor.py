"""transformers' own generate, held to guides: greedy, sampling, beams, prompt lookup, a batch with a rule a row.

Needs torch and transformers. The model is detent's embedded one, which is an ordinary Llama folder to transformers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

import detent
from detent.integrations.transformers import LogitsProcessor

FOLDER = Path(detent.__file__).parent / "models" / "weights"


def main() -> None:
    """Generate in several ways; every row keeps to its rule."""
    embedded = detent.load_model()  # for its vocabulary and its chat template
    model: Any = AutoModelForCausalLM.from_pretrained(FOLDER)
    vocabulary = embedded.vocabulary
    (end,) = vocabulary.eos_token_ids

    def show(title: str, prompts: list[str], processor: LogitsProcessor, **options: bool | float) -> None:
        ids = [embedded.encode(prompt) for prompt in prompts]
        width = max(map(len, ids))
        padded = torch.tensor([[end] * (width - len(row)) + row for row in ids])  # padding on the left
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in ids])
        rows = model.generate(
            padded,
            attention_mask=mask,
            logits_processor=[processor],
            eos_token_id=end,
            pad_token_id=end,
            max_new_tokens=48,
            **options,
        )
        texts = [vocabulary.decode(row[width:].tolist()).decode() for row in rows]
        print(f"{title:14} {texts}")

    torch.manual_seed(0)
    date = detent.compile(detent.regex(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"), vocabulary)
    yes_or_no = detent.compile(detent.regex("Yes|No"), vocabulary)
    when, which = "Write 7 March 2021 as an ISO date.", "Is the number 88 smaller than 24? Answer Yes or No."

    dates = LogitsProcessor(date)  # reusable: it reads its state off the token ids
    show("greedy", [when], dates, do_sample=False)
    show("sampling", [when], dates, do_sample=True, temperature=2.0, num_return_sequences=3)
    show("beams", [when], dates, num_beams=4)
    show("prompt lookup", [when], dates, prompt_lookup_num_tokens=3, do_sample=False)
    show("a rule a row", [when, which], LogitsProcessor([date, yes_or_no]), do_sample=False)


if __name__ == "__main__":
    main()
