"""A tiny random Llama and a byte-level BPE tokenizer trained on a few words: a real model in a few milliseconds."""

from __future__ import annotations

from typing import Any

WORDS = ["yes no maybe", "the answer is 42", "12 34 56 78 90", "abc def ghi", "in the morning and in the evening"]
PADDED_WIDTH = 320


def tokenizer() -> Any:
    """Return a tokenizer of 256 bytes, some merges, and <pad> 0, <s> 1, </s> 2, <other> 3."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<pad>", "<s>", "</s>", "<other>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(WORDS * 10, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>", padding_side="left"
    )


def model(seed: int = 0, *, layers: int = 2, **options: Any) -> Any:
    """Return a random Llama in evaluation mode, with logits wider than the tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=PADDED_WIDTH,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        initializer_range=0.5,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        **options,
    )
    return LlamaForCausalLM(config).eval()
