"""Write the embedded model as a folder that transformers and vLLM load by themselves.

    python tools/write_transformers.py FOLDER

The weights are those of the package. The configuration loses detent's own entry, and the tokenizer gains the files that
name its class, its end of text, and its chat template.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import detent

_FOLDER = Path(detent.__file__).parent / "models" / "weights"
_TEMPLATE = Path(__file__).parent / "embedded_chat_template.jinja"


def write_transformers(folder: Path, source: Path = _FOLDER) -> None:
    """Write the model.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    source : Path
        The model, in the embedded layout.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = json.loads((source / "config.json").read_bytes())
    del config["chat_template"]
    for name in ("model.safetensors", "tokenizer.json"):
        shutil.copyfile(source / name, folder / name)
    files = {
        "config.json": config,
        "generation_config.json": {"eos_token_id": config["eos_token_id"], "pad_token_id": config["pad_token_id"]},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": "<|end|>",
            "pad_token": "<|end|>",
            "model_max_length": config["max_position_embeddings"],
            "clean_up_tokenization_spaces": False,
            "chat_template": _TEMPLATE.read_text(encoding="utf-8"),
        },
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--from", type=Path, dest="source", metavar="FOLDER", default=_FOLDER, help="another model")
    options = parser.parse_args()
    write_transformers(options.folder, options.source)


if __name__ == "__main__":
    main()
