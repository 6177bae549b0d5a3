"""A folder of the embedded model that thinks: `</think>` is likely wherever a full stop is."""

from __future__ import annotations

import json
from pathlib import Path

from write_transformers import write_transformers

TAGS = ("<think>", "</think>")
FULL_STOP = 16


def write_thinking(folder: Path) -> None:
    """Write the model for transformers, with two more tokens.

    No training is needed: the embedding of `</think>` is that of the full stop, longer by a tenth, so that the model
    prefers it. The embedding of `<think>` is 0.
    """
    import numpy as np
    from safetensors.numpy import load_file, save_file

    write_transformers(folder)
    weights = load_file(folder / "model.safetensors")
    rows = weights["model.embed_tokens.weight"]
    more = np.stack([np.zeros_like(rows[FULL_STOP]), rows[FULL_STOP] * np.float16(1.1)])
    weights["model.embed_tokens.weight"] = np.concatenate([rows, more])
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": len(rows) + 2}))
    tokenizer = json.loads((folder / "tokenizer.json").read_bytes())
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    tokenizer["added_tokens"] += [
        {"id": len(rows) + number, "content": tag, "special": False, **flags} for number, tag in enumerate(TAGS)
    ]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
