"""A decoding loop in JAX that never leaves the device: network, constraint, choice and stopping are one compiled loop.

Needs jax. The network is detent's embedded Llama, written in JAX in some forty lines; each row of the batch is held to
a rule of its own, and `jax.transfer_guard` raises if a step wants a word from the host.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

import detent
from detent.jax import init, process
from detent.models.safetensors import read_safetensors

FOLDER = Path(detent.__file__).parent / "models" / "weights"
CONFIG = json.loads((FOLDER / "config.json").read_text())
HEADS, SHARED, SIZE = CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"], CONFIG["head_dim"]
LAYERS = range(CONFIG["num_hidden_layers"])
MAX_TOKENS = 24


def norm(x: Array, weight: Array) -> Array:
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + CONFIG["rms_norm_eps"]) * weight


def turned(x: Array, place: Array) -> Array:
    """Rotary positions of x[batch, heads, size]."""
    rate = CONFIG["rope_parameters"]["rope_theta"] ** (-jnp.arange(0, SIZE, 2) / SIZE)
    cos, sin = jnp.cos(place * rate), jnp.sin(place * rate)
    left, right = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)


def network(weights: dict[str, Array], cache: Array, tokens: Array, place: Array) -> tuple[Array, Array]:
    """One step of the Llama: tokens[batch] at `place`; the cache is [layers, 2, batch, length, shared heads, size]."""
    batch, length = cache.shape[2:4]
    x = weights["model.embed_tokens.weight"][tokens]
    for layer in LAYERS:
        part = {name: weights[f"model.layers.{layer}.{name}.weight"] for name in PARTS}
        y = norm(x, part["input_layernorm"])
        query = turned((y @ part["self_attn.q_proj"].T).reshape(batch, HEADS, SIZE), place)
        key = turned((y @ part["self_attn.k_proj"].T).reshape(batch, SHARED, SIZE), place)
        value = (y @ part["self_attn.v_proj"].T).reshape(batch, SHARED, SIZE)
        cache = cache.at[layer, 0, :, place].set(key).at[layer, 1, :, place].set(value)
        grouped = query.reshape(batch, SHARED, HEADS // SHARED, SIZE)
        scores = jnp.einsum("bsgd,blsd->bsgl", grouped, cache[layer, 0]) / SIZE**0.5
        weight = jax.nn.softmax(jnp.where(jnp.arange(length) <= place, scores, -jnp.inf))
        read = jnp.einsum("bsgl,blsd->bsgd", weight, cache[layer, 1]).reshape(batch, HEADS * SIZE)
        x = x + read @ part["self_attn.o_proj"].T
        y = norm(x, part["post_attention_layernorm"])
        x = x + (jax.nn.silu(y @ part["mlp.gate_proj"].T) * (y @ part["mlp.up_proj"].T)) @ part["mlp.down_proj"].T
    return norm(x, weights["model.norm.weight"]) @ weights["model.embed_tokens.weight"].T, cache


PARTS = [
    *(f"self_attn.{name}_proj" for name in "qkvo"),
    *(f"mlp.{name}_proj" for name in ("gate", "up", "down")),
    "input_layernorm",
    "post_attention_layernorm",
]


@jax.jit
def decode(weights: dict[str, Array], prompt: Array, state: Any) -> tuple[Array, Array]:
    """Read prompt[batch, length], then write until all rows have ended. Returns the tokens and the number of steps."""
    batch, length = prompt.shape
    tokens = jnp.pad(prompt, ((0, 0), (0, MAX_TOKENS + 1)))
    cache = jnp.zeros((len(LAYERS), 2, batch, tokens.shape[1], SHARED, SIZE))
    place = jnp.asarray(0)

    def step(carry: Any) -> Any:
        place, tokens, cache, state = carry
        logits, cache = network(weights, cache, tokens[:, place], place)

        def choose(state: Any) -> Any:
            masked, state = process(state, logits, tokens[:, place])
            return masked.argmax(axis=1).astype(tokens.dtype), state

        # The prompt is read token by token; behind its last one the constraint begins.
        chosen, state = lax.cond(place >= length - 1, choose, lambda state: (tokens[:, place + 1], state), state)
        return place + 1, tokens.at[:, place + 1].set(chosen), cache, state

    def goes_on(carry: Any) -> Array:
        place, _, _, state = carry
        running: Array = (place < tokens.shape[1] - 1) & ~state.finished.all()
        return running

    steps, written, _, _ = lax.while_loop(goes_on, step, (place, tokens, cache, state))
    return written[:, length:], steps


def main() -> None:
    """Answer one question under three rules at once."""
    model = detent.load_model()
    vocabulary, prompt = model.vocabulary, "Write 7 March 2021 as an ISO date."
    rules = {"a date": detent.date(), "digits": detent.regex("[0-9]{6}"), "yes or no": detent.regex("Yes|No")}
    table = detent.stack_tables([detent.compile(rule, vocabulary).to_table() for rule in rules.values()])
    print(table)

    weights = {name: jnp.asarray(array) for name, array in read_safetensors(FOLDER / "model.safetensors").items()}
    ids = jnp.asarray([model.encode(prompt)] * len(rules))
    state = init(table, range(len(rules)), max_tokens=MAX_TOKENS)
    decode(weights, ids, state)  # compiles
    with jax.transfer_guard("disallow"):  # any transfer between host and device raises
        started = time.perf_counter()
        tokens, steps = decode(weights, ids, state)
        tokens.block_until_ready()
        seconds = time.perf_counter() - started
    for name, rule, row in zip(rules, rules.values(), np.asarray(tokens).tolist(), strict=True):
        text = vocabulary.decode(row[: row.index(vocabulary.eos_token_ids[0])])
        print(f"{name:10} {text.decode()!r:14} {rule.accepts(text)}")
    print(f"{int(steps)} steps of {len(rules)} rows, {1e3 * seconds / int(steps):.2f} ms each, nothing transferred")


if __name__ == "__main__":
    main()
