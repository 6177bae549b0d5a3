"""transformers' generate with the static cache, held to a table on the device of the model: no mask crosses to it.

Needs torch and transformers. On a GPU, transformers compiles the network for the static cache; the table's part, tensor
operations of fixed shapes, waits for nothing from the host either.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

import detent
from detent.torch import TableLogitsProcessor, TableProcessor

FOLDER = Path(detent.__file__).parent / "models" / "weights"


def main() -> None:
    """Two prompts, each with a rule of its own; one table for both."""
    embedded = detent.load_model()  # for its vocabulary and its chat template
    model: Any = AutoModelForCausalLM.from_pretrained(FOLDER)
    vocabulary = embedded.vocabulary
    (end,) = vocabulary.eos_token_ids
    rules = [detent.date(), detent.regex("Yes|No")]
    table = detent.stack_tables([detent.compile(rule, vocabulary).to_table() for rule in rules])
    print(table)

    prompts = ["Write 7 March 2021 as an ISO date.", "Is the number 88 smaller than 24? Answer Yes or No."]
    ids = [embedded.encode(prompt) for prompt in prompts]
    width = max(map(len, ids))
    padded = torch.tensor([[end] * (width - len(row)) + row for row in ids])  # padding on the left
    held = TableLogitsProcessor(
        TableProcessor(table).to(model.device), width, constraints=torch.tensor([0, 1]), max_tokens=15
    )
    rows = model.generate(
        padded,
        attention_mask=torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in ids]),
        logits_processor=[held],
        eos_token_id=end,
        pad_token_id=end,
        max_new_tokens=16,
        do_sample=False,
        cache_implementation="static",
    )
    for prompt, rule, row in zip(prompts, rules, rows, strict=True):
        text = vocabulary.decode(row[width:].tolist())
        print(f"{prompt} {text.decode()} ({rule.accepts(text)})")


if __name__ == "__main__":
    main()
