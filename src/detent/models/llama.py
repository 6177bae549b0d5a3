"""A Llama network in NumPy: RMSNorm, rotary positions, grouped attention, SwiGLU; float32 throughout.

The weights are rearranged once, so that a pass has few and large matrix products:

* a matrix has the shape (inputs, outputs), and matrices with the same input are concatenated (q, k, v; gate, up);
* the weight of each norm, the attention's 1/sqrt(d) and SwiGLU's 1/2 are multiplied into the next matrix;
* the two halves of a rotary pair are adjacent, so that a rotation is one complex multiplication.

Sources: Touvron et al. 2023 (Llama), Su et al. 2021 (rotary positions), Shazeer 2020 (SwiGLU).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detent.errors import ModelError

__all__ = ["Cache", "Config", "Llama"]

Array = NDArray[np.float32]

_REQUIRED = {
    "model_type": "llama",
    "hidden_act": "silu",
    "tie_word_embeddings": True,
    "attention_bias": False,
    "mlp_bias": False,
}


@dataclass(frozen=True)
class Config:
    """The sizes of a network, read from a `config.json` in the layout of transformers."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    rms_norm_eps: float
    rope_theta: float

    @classmethod
    def from_json(cls, config: Any) -> Config:
        """Check the parsed `config.json` of a model.

        Raises
        ------
        ModelError
            A size is missing or wrong, or the network has a part that this one lacks.
        """
        try:
            for name, value in _REQUIRED.items():
                if config[name] != value:
                    raise ValueError(f"{name} is {config[name]!r}; only {value!r} can be run")
            rope = config["rope_parameters"]
            if rope["rope_type"] != "default":
                raise ValueError(f"rope_type is {rope['rope_type']!r}; only 'default' can be run")
            numbers = {name: config[name] for name in cls.__dataclass_fields__ if name != "rope_theta"}
            sizes = cls(**numbers, rope_theta=rope["rope_theta"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"config.json does not describe a network that can be run here: {error!r}") from None
        sizes._check()
        return sizes

    def _check(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            kind = float if name in ("rms_norm_eps", "rope_theta") else int
            if type(value) is not kind or not 0 < value < 1 << 20:
                raise ModelError(f"config.json: {name} must be a positive {kind.__name__}, got {value!r}")
        if self.num_attention_heads % self.num_key_value_heads or self.head_dim % 2:
            raise ModelError(
                f"config.json: {self.num_attention_heads} heads cannot share {self.num_key_value_heads} key heads, "
                f"or the head size {self.head_dim} is odd"
            )


class _Layer(NamedTuple):
    """The rearranged matrices of one layer."""

    qkv: Array
    out: Array
    gate_up: Array
    down: Array


class Cache:
    """The keys and values of the first `length` tokens of a text; the capacity doubles when it is full.

    Shapes: keys (layers, key heads, head size, room), values (layers, key heads, room, head size). Cropping is to set
    `length` lower.
    """

    def __init__(self, config: Config, room: int = 64) -> None:
        self.length = 0
        heads = (config.num_hidden_layers, config.num_key_value_heads)
        self.keys: Array = np.empty((*heads, config.head_dim, room), np.float32)
        self.values: Array = np.empty((*heads, room, config.head_dim), np.float32)

    def make_room(self, total: int) -> None:
        """Make room for `total` tokens."""
        room = self.keys.shape[3]
        if total > room:
            more = max(total, 2 * room) - room
            self.keys = np.pad(self.keys, ((0, 0), (0, 0), (0, 0), (0, more)))
            self.values = np.pad(self.values, ((0, 0), (0, 0), (0, more), (0, 0)))

    def copy(self) -> Cache:
        """Return an independent cache of the same tokens."""
        copied = object.__new__(Cache)
        copied.length, copied.keys, copied.values = self.length, self.keys.copy(), self.values.copy()
        return copied


class _Segment(NamedTuple):
    """The tokens of one session in a pass: their rows, their positions, and -inf where attention is masked."""

    rows: slice
    cache: Cache
    start: int
    total: int
    causal: Array | None


class Llama:
    """The network: `forward` reads tokens into caches and returns logits.

    Parameters
    ----------
    config : Config
        The sizes.
    tensors : dict of str to float32 arrays
        The weights under their transformers names.

    Raises
    ------
    ModelError
        A tensor is missing or has another shape than the config says.
    """

    def __init__(self, config: Config, tensors: dict[str, Array]) -> None:
        self.config = config
        width, head, hidden = config.hidden_size, config.head_dim, config.intermediate_size
        heads, key_heads = config.num_attention_heads, config.num_key_value_heads

        def take(name: str, *shape: int) -> Array:
            tensor = tensors.get(name)
            if tensor is None or tensor.shape != shape:
                found = "none" if tensor is None else f"shape {tensor.shape}"
                raise ModelError(f"the weights need a tensor {name} of shape {shape}; found {found}")
            return tensor

        # Row i of the interleaved head is row i // 2 of the first half (even i) or of the second (odd i).
        interleaved = np.arange(head).reshape(2, head // 2).T.ravel()

        def rotated(name: str, count: int) -> Array:
            weights = take(name, count * head, width).reshape(count, head, width)
            return weights[:, interleaved].reshape(count * head, width)

        self.embedding = take("model.embed_tokens.weight", config.vocab_size, width)
        self._head = np.ascontiguousarray((self.embedding * take("model.norm.weight", width)).T)
        self._layers = []
        for index in range(config.num_hidden_layers):
            start = f"model.layers.{index}."
            q = rotated(f"{start}self_attn.q_proj.weight", heads) * np.float32(head**-0.5)
            k = rotated(f"{start}self_attn.k_proj.weight", key_heads)
            v = take(f"{start}self_attn.v_proj.weight", key_heads * head, width)
            gate, up = (take(f"{start}mlp.{name}_proj.weight", hidden, width) for name in ("gate", "up"))
            before_attention = take(f"{start}input_layernorm.weight", width)
            before_mlp = take(f"{start}post_attention_layernorm.weight", width)
            self._layers.append(
                _Layer(
                    np.ascontiguousarray((np.concatenate([q, k, v]) * before_attention).T),
                    np.ascontiguousarray(take(f"{start}self_attn.o_proj.weight", width, heads * head).T),
                    np.ascontiguousarray((np.concatenate([gate, up]) * before_mlp).T),
                    np.ascontiguousarray(take(f"{start}mlp.down_proj.weight", width, hidden).T * np.float32(0.5)),
                )
            )
        frequencies = config.rope_theta ** (-np.arange(0, head, 2) / head)
        angles = np.outer(np.arange(config.max_position_embeddings), frequencies)
        self._rotation = np.exp(1j * angles).astype(np.complex64)[:, None, :]

    def forward(self, inputs: Sequence[tuple[list[int], Cache]]) -> Array:
        """Read new tokens of each session into its cache; return the logits after the last: float32, (sessions, V).

        Cost: one pass of matrix products for all new tokens; attention is tokens times length for each session.
        """
        config = self.config
        segments, end = [], 0
        for token_ids, cache in inputs:
            start, total = cache.length, cache.length + len(token_ids)
            cache.make_room(total)
            many = len(token_ids) > 1
            causal = np.triu(np.full((total - start, total), -np.inf, np.float32), start + 1) if many else None
            segments.append(_Segment(slice(end, end := end + len(token_ids)), cache, start, total, causal))
        rotations = np.concatenate([self._rotation[segment.start : segment.total] for segment in segments])
        x = self.embedding[[token_id for token_ids, _ in inputs for token_id in token_ids]]
        for index, layer in enumerate(self._layers):
            x = x + self._attention(x, layer, index, segments, rotations) @ layer.out
            joined = _rms_norm(x, config.rms_norm_eps) @ layer.gate_up
            gate, up = joined[:, : config.intermediate_size], joined[:, config.intermediate_size :]
            # SiLU(g) = g / (1 + exp(-g)) = g (1 + tanh(g / 2)) / 2, which cannot overflow; the last half is in `down`.
            x = x + (gate * (1 + np.tanh(gate * np.float32(0.5))) * up) @ layer.down
        for segment in segments:
            segment.cache.length = segment.total
        logits: Array = _rms_norm(x[[segment.rows.stop - 1 for segment in segments]], config.rms_norm_eps) @ self._head
        return logits

    def _attention(
        self, x: Array, layer: _Layer, index: int, segments: Sequence[_Segment], rotations: NDArray[Any]
    ) -> Array:
        """Store the keys and values of the tokens in `x`, and mix the values of all tokens of its row up to each."""
        config, count = self.config, len(x)
        heads, key_heads, head = config.num_attention_heads, config.num_key_value_heads, config.head_dim
        qkv = _rms_norm(x, config.rms_norm_eps) @ layer.qkv
        complex_qk = (
            qkv[:, : (heads + key_heads) * head].view(np.complex64).reshape(count, heads + key_heads, head // 2)
        )
        rotated = (complex_qk * rotations).view(np.float32)
        values = qkv[:, (heads + key_heads) * head :].reshape(count, key_heads, head)
        mixed = [self._mix(rotated[segment.rows], values[segment.rows], index, segment) for segment in segments]
        return mixed[0] if len(mixed) == 1 else np.concatenate(mixed)

    def _mix(self, rotated: Array, new_values: Array, index: int, segment: _Segment) -> Array:
        """Attend, in one row: queries and keys are in `rotated`, values in `new_values`."""
        config, count = self.config, len(rotated)
        heads, key_heads, head = config.num_attention_heads, config.num_key_value_heads, config.head_dim
        start, total, causal = segment.start, segment.total, segment.causal
        keys, values = segment.cache.keys[index], segment.cache.values[index]
        keys[:, :, start:total] = rotated[:, heads:].transpose(1, 2, 0)
        values[:, start:total] = new_values.transpose(1, 0, 2)
        # Queries of the same key head are adjacent: (key heads, queries of the group times tokens, head size).
        q = rotated[:, :heads].reshape(count, key_heads, -1, head).transpose(1, 2, 0, 3).reshape(key_heads, -1, head)
        scores: Array = q @ keys[:, :, :total]
        if causal is not None:
            scores.reshape(key_heads, -1, count, total)[...] += causal
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed: Array = scores @ values[:, :total]
        return mixed.reshape(key_heads, -1, count, head).transpose(2, 0, 1, 3).reshape(count, heads * head)


def _rms_norm(x: Array, epsilon: float) -> Array:
    """Divide each row by its root mean square."""
    share = np.full((x.shape[1], 1), 1 / x.shape[1], np.float32)
    mean = (x * x) @ share  # a product is faster than x.mean for one row
    normal: Array = np.divide(x, np.sqrt(mean + np.float32(epsilon)))
    return normal
