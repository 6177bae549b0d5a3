"""The model or the tokenizer that an option names."""

from __future__ import annotations

import importlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from detent.cli.terminal import progress
from detent.errors import ModelError, VocabularyError
from detent.models import LlamaCpp, Model, Transformers, load_model
from detent.vocabulary import Vocabulary
from detent.vocabulary.gguf import is_gguf, read_gguf_chat_template

__all__ = ["open_model", "open_vocabulary"]


def open_model(path: Path | None, *, chat: bool = False) -> Model:
    """Load the embedded model, a folder of its layout, any other folder with transformers, or a GGUF file.

    Parameters
    ----------
    path : Path or None
        None: the embedded model.
    chat : bool
        Whether a prompt is a message of a user, for models that have a chat template.
    """
    with progress("loading the model"):
        return _load(path, chat=chat)


def _load(path: Path | None, *, chat: bool) -> Model:
    if path is None:
        return load_model()
    if path.is_file():
        return _gguf(path, chat=chat)
    if not path.is_dir():
        raise ModelError(f"--model {path}: is not there; give a folder in the transformers layout, or a GGUF file")
    try:
        config = json.loads((path / "config.json").read_bytes())
    except FileNotFoundError:
        raise ModelError(
            f"--model {path}: has no config.json; give the folder of a model saved in the transformers layout"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"--model {path}: config.json is not valid JSON: {error}") from None
    if isinstance(config, dict) and isinstance(config.get("chat_template"), dict):  # only the embedded layout has this
        return load_model(path)
    if not (find_spec("torch") and find_spec("transformers")):
        raise ModelError(f"--model {path}: needs torch and transformers: pip install torch transformers")
    return _transformers(path, chat=chat)


def _gguf(path: Path, *, chat: bool) -> Model:
    if not is_gguf(path):
        raise ModelError(f"--model {path}: is no GGUF file; give one, or a folder in the transformers layout")
    if not find_spec("llama_cpp"):
        raise ModelError(f"--model {path}: needs llama-cpp-python: pip install llama-cpp-python")
    has_template = bool(read_gguf_chat_template(path)[0])
    return LlamaCpp(path, chat=chat and has_template)


def _transformers(path: Path, *, chat: bool) -> Model:
    transformers: Any = importlib.import_module("transformers")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(path, local_files_only=True)
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
    except Exception as error:  # a defect may surface as anything from KeyError to SafetensorError
        raise ModelError(f"--model {path}: transformers cannot load it: {type(error).__name__}: {error}") from error
    return Transformers(model.eval(), tokenizer, chat=chat and bool(getattr(tokenizer, "chat_template", None)))


def open_vocabulary(path: Path | None) -> Vocabulary:
    """Return the vocabulary of a tokenizer's file or folder; None: that of the embedded model.

    A tokenizer that does not say what ends a text has none here: the commands that ask for no model show it as it is.
    """
    if path is None:
        return load_model().vocabulary
    with progress("reading the tokenizer"):
        try:
            return Vocabulary.from_file(path)
        except VocabularyError:
            return Vocabulary.from_file(path, eos_token_ids=None)
