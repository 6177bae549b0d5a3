"""Write the embedded model as a GGUF file, for llama.cpp and the engines that rest on it.

    python tools/write_gguf.py model.gguf --type f32

llama.cpp rotates adjacent pairs of a head where transformers rotates its two halves, so rows of queries and keys are
interleaved. Its pre-tokenizer "smollm" isolates digits and splits as GPT-2 does, as the embedded tokenizer does. The
chat template is `embedded_chat_template.jinja`, which writes what `EmbeddedModel.encode_chat` writes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

import detent
from detent.models.safetensors import read_safetensors

_FOLDER = Path(detent.__file__).parent / "models" / "weights"
_TEMPLATE = Path(__file__).parent / "embedded_chat_template.jinja"
_TYPES = {
    "f16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
    "f32": (gguf.GGMLQuantizationType.F32, gguf.LlamaFileType.ALL_F32),
    "q8_0": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
}
_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_gguf(path: Path, kind: str = "f32", folder: Path = _FOLDER) -> None:
    """Write a model of the embedded layout.

    Parameters
    ----------
    path : Path
        The file.
    kind : "f32", "f16" or "q8_0"
        The type of the matrices; norms are float32.
    folder : Path
        The model.
    """
    config = json.loads((folder / "config.json").read_bytes())
    quantization, file_type = _TYPES[kind]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("detent embedded")
    writer.add_file_type(file_type)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_vocab_size(config["vocab_size"])
    _add_tokenizer(writer, json.loads((folder / "tokenizer.json").read_bytes()), config)
    for name, tensor in read_safetensors(folder / "model.safetensors").items():
        heads = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}.get(name.split(".")[-2])
        values = tensor if heads is None else _interleaved(tensor, config[heads])
        if values.ndim == 1:
            writer.add_tensor(_gguf_name(name), values)
        else:
            writer.add_tensor(_gguf_name(name), gguf.quantize(values, quantization), raw_dtype=quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _interleaved(weights: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Return the rows of each head with the two halves of its rotary pairs adjacent."""
    rows, width = weights.shape
    return weights.reshape(heads, 2, rows // heads // 2, width).swapaxes(1, 2).reshape(rows, width)


def _gguf_name(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    layer, _, part = name.removeprefix("model.layers.").partition(".")
    return f"blk.{layer}.{_NAMES[part.removesuffix('.weight')]}.weight"


def _add_tokenizer(writer: gguf.GGUFWriter, tokenizer: Any, config: Any) -> None:
    special = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
    names = {token: name for name, token in tokenizer["model"]["vocab"].items()} | special
    tokens = [names[token] for token in range(len(names))]
    kinds = [gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in range(len(names))]
    for token in range(len(names), config["vocab_size"]):
        tokens.append(f"<unused{token}>")
        kinds.append(gguf.TokenType.UNUSED)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(_TEMPLATE.read_text(encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--type", choices=_TYPES, default="f32")
    parser.add_argument("--from", type=Path, dest="source", metavar="FOLDER", default=_FOLDER, help="another model")
    options = parser.parse_args()
    write_gguf(options.path, options.type, options.source)


if __name__ == "__main__":
    main()
