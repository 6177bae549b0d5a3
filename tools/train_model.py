"""Train the model that detent ships, a byte-level BPE tokenizer and a small Llama, on what ``write_corpus.py`` writes.

    python tools/train_model.py --minutes 75 --out src/detent/models/weights
    python tools/train_model.py --evaluate src/detent/models/weights

What makes two million parameters learn to copy and to fill in records within an hour of one core:

* only the answers carry loss, and only their positions go through the output layer;
* a step is a few pieces of examples of similar length, so that little is padded and no mask is needed (right padding is
  invisible to causal attention); the shapes are few, since each new one costs the matrix library a compilation;
* matrix products run in bfloat16 under autocast; weights and optimizer state stay float32;
* matrices are trained with Muon (orthogonalised momentum; Jordan et al., 2024), embeddings and norms with AdamW;
* the learning rate falls linearly to zero over a budget of wall-clock time, so the schedule always completes.

The weights in the package come from two runs of one thread on shared cores: 36 minutes from scratch (7.3 M tokens, most
tasks weighted alike), then 30 minutes more (6.2 M) with ``--from``, ``--rate 0.55`` and the weights that the tasks have
now. 93.9 % of 1,233 held-out answers were right; sums (12 of 30) and values looked up by a key (17 of 30) were weakest.

The result is a folder that ``transformers`` loads too: ``model.safetensors`` (float16), ``config.json``,
``tokenizer.json``. Needs the extras torch, tokenizers and safetensors; detent itself needs NumPy only.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from torch.nn import functional

import write_corpus
from corpus.rows import Row

END, USER, ASSISTANT = "<|end|>", "<|user|>", "<|assistant|>"
VOCABULARY_SIZE = 2048
WIDTH, LAYERS, HEADS, HIDDEN = 192, 5, 6, 448
HEAD = WIDTH // HEADS
THETA, EPSILON = 10000.0, 1e-5
LENGTHS = (12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 256, 384, 512)
PIECES, PIECE_TOKENS = 4, 1536
MATRIX_RATE, OTHER_RATE = 4e-3, 4e-3

Example = tuple[list[int], list[int]]


# ---------------------------------------------------------------- tokenizer


def train_tokenizer(rows: int = 40_000) -> Tokenizer:
    """Byte-level BPE on GPT-2's pieces, with each digit a piece of its own."""
    tokenizer = Tokenizer(models.BPE())
    digits = pre_tokenizers.Split(Regex(r"\p{N}"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=[END, USER, ASSISTANT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = (text for _, row in write_corpus.training(1, rows) for text in (row.prompt, row.answer))
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def encode(tokenizer: Tokenizer, pairs: list[tuple[str, str]]) -> list[Example]:
    """Encode each (prompt, answer) in the chat template: ``<|user|>prompt<|assistant|>`` and ``answer<|end|>``."""
    vocabulary = tokenizer.get_vocab()
    end, user, assistant = (vocabulary[token] for token in (END, USER, ASSISTANT))
    prompts = tokenizer.encode_batch_fast([prompt for prompt, _ in pairs])
    answers = tokenizer.encode_batch_fast([answer for _, answer in pairs])
    return [([user, *p.ids, assistant], [*a.ids, end]) for p, a in zip(prompts, answers, strict=True)]


# ---------------------------------------------------------------- network


class Layer(nn.Module):
    """Attention and SwiGLU, each after a norm and added to what came in."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_attention = nn.Parameter(torch.ones(WIDTH))
        self.norm_mlp = nn.Parameter(torch.ones(WIDTH))
        self.q, self.k, self.v, self.o = (matrix(WIDTH, WIDTH) for _ in range(4))
        self.gate, self.up = matrix(HIDDEN, WIDTH), matrix(HIDDEN, WIDTH)
        self.down = matrix(WIDTH, HIDDEN)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Read (batch, length, width) and give the same shape."""
        batch, length, _ = x.shape
        joined = functional.linear(rms_norm(x, self.norm_attention), torch.cat([self.q, self.k, self.v]))
        q, k, v = joined.view(batch, length, 3, HEADS, HEAD).permute(2, 0, 3, 1, 4)
        mixed = attend(rotate(q, cos, sin), rotate(k, cos, sin), v)
        x = x + functional.linear(mixed.transpose(1, 2).reshape(batch, length, WIDTH), self.o)
        gate, up = functional.linear(rms_norm(x, self.norm_mlp), torch.cat([self.gate, self.up])).chunk(2, -1)
        return x + functional.linear(functional.silu(gate) * up, self.down)


class Network(nn.Module):
    """Llama with tied embeddings; ``forward`` gives the logits of the chosen positions."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(VOCABULARY_SIZE, WIDTH) * 0.05)
        layers = [Layer() for _ in range(LAYERS)]
        self.layers = nn.ModuleList(layers)
        self.norm = nn.Parameter(torch.ones(WIDTH))
        with torch.no_grad():
            for layer in layers:
                layer.o.mul_(0.2)
                layer.down.mul_(0.2)

    def forward(self, ids: Tensor, chosen: Tensor) -> Tensor:
        """Read (batch, length) ids; `chosen` are positions in the flattened batch."""
        cos, sin = rotation(ids.shape[1])
        x = functional.embedding(ids, self.embedding)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return functional.linear(rms_norm(x.flatten(0, 1)[chosen], self.norm), self.embedding)


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention written out: for sequences this short, torch's fused one is slower on CPU."""
    length = q.shape[2]
    later = torch.full((length, length), -torch.inf, dtype=torch.bfloat16).triu(1)
    scores: Tensor = (q * HEAD**-0.5) @ k.transpose(2, 3) + later
    return scores.softmax(-1) @ v


def matrix(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(rows, columns) / math.sqrt(columns))


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return functional.rms_norm(x, (x.shape[-1],), weight, EPSILON)


def rotation(length: int) -> tuple[Tensor, Tensor]:
    frequencies = THETA ** (-torch.arange(0, HEAD, 2) / HEAD)
    angles = torch.outer(torch.arange(length), frequencies).repeat(1, 2)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    left, right = x.chunk(2, -1)
    return x * cos.to(x.dtype) + torch.cat([-right, left], -1) * sin.to(x.dtype)


def named_weights(network: Network) -> dict[str, nn.Parameter]:
    """Return the weights under their transformers names."""
    named = {"model.embed_tokens.weight": network.embedding, "model.norm.weight": network.norm}
    ours = {"input_layernorm": "norm_attention", "post_attention_layernorm": "norm_mlp"}
    ours |= {f"self_attn.{name}_proj": name for name in ("q", "k", "v", "o")}
    ours |= {f"mlp.{name}_proj": name for name in ("gate", "up", "down")}
    for index, layer in enumerate(network.layers):
        named |= {f"model.layers.{index}.{theirs}.weight": getattr(layer, name) for theirs, name in ours.items()}
    return named


def restore(network: Network, folder: Path) -> None:
    """Read the weights of an exported folder."""
    tensors = load_file(folder / "model.safetensors")
    with torch.no_grad():
        for name, weight in named_weights(network).items():
            weight.copy_(tensors[name])


def export(network: Network, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the folder that detent and transformers load; each file is replaced as a whole."""
    folder.mkdir(parents=True, exist_ok=True)
    end = tokenizer.token_to_id(END)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": WIDTH,
        "intermediate_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": HEAD,
        "rms_norm_eps": EPSILON,
        "max_position_embeddings": 2048,
        "rope_parameters": {"rope_type": "default", "rope_theta": THETA},
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "vocab_size": VOCABULARY_SIZE,
        "bos_token_id": None,
        "eos_token_id": end,
        "pad_token_id": end,
        "dtype": "float16",
        "chat_template": {"user": USER, "assistant": ASSISTANT, "end": END},
    }
    tensors = {name: weight.detach().half().contiguous() for name, weight in named_weights(network).items()}
    replace(folder / "model.safetensors", lambda path: save_file(tensors, path, {"format": "pt"}))
    replace(folder / "config.json", lambda path: path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8"))
    replace(folder / "tokenizer.json", lambda path: tokenizer.save(str(path), pretty=False))


def replace(path: Path, write: object) -> None:
    temporary = path.with_suffix(".new")
    write(temporary)  # type: ignore[operator]
    temporary.chmod(0o644)
    temporary.replace(path)


# ---------------------------------------------------------------- training


def examples(tokenizer: Tokenizer, seed: int) -> Iterator[Example]:
    """Training examples without end; longer ones than the context are left out."""
    source = write_corpus.training(seed, sys.maxsize)
    for _ in count():
        pairs = [(row.prompt, row.answer) for _, row in islice(source, 5000)]
        yield from (example for example in encode(tokenizer, pairs) if len(example[0]) + len(example[1]) <= LENGTHS[-1])


def steps(source: Iterator[Example]) -> Iterator[list[list[Example]]]:
    """Group examples into steps of ``PIECES`` pieces, each of examples of similar length."""
    waiting: dict[int, list[Example]] = defaultdict(list)
    pieces: list[list[Example]] = []
    for example in source:
        length = bucket(example)
        waiting[length].append(example)
        if len(waiting[length]) == PIECE_TOKENS // length:
            pieces.append(waiting.pop(length))
        if len(pieces) == PIECES:
            yield pieces
            pieces = []


def bucket(example: Example) -> int:
    """Return the padded length of an example."""
    return next(length for length in LENGTHS if len(example[0]) + len(example[1]) - 1 <= length)


def tensors_of(piece: list[Example]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return padded inputs, flat positions that predict an answer token, those tokens, and their weights.

    An example of n answer tokens weighs sqrt(n): long records should not drown short sums. Positions are padded to a
    multiple of 64, with weight 0.
    """
    length = max(map(bucket, piece))
    ids = torch.zeros(len(piece), length, dtype=torch.long)
    chosen: list[int] = []
    targets: list[int] = []
    weights: list[float] = []
    for row, (prompt, answer) in enumerate(piece):
        tokens = prompt + answer[:-1]
        ids[row, : len(tokens)] = torch.tensor(tokens)
        start = row * length + len(prompt) - 1
        chosen += range(start, start + len(answer))
        targets += answer
        weights += [len(answer) ** -0.5] * len(answer)
    padding = [0] * (-len(chosen) % 64)
    return (
        ids,
        torch.tensor(chosen + padding),
        torch.tensor(targets + padding),
        torch.tensor([*weights, *map(float, padding)]),
    )


@dataclass(frozen=True)
class Training:
    """How long to train, and how."""

    minutes: float
    seed: int
    save_every: float
    first: Path | None
    rate: float


def train(settings: Training, folder: Path, source: Callable[[Tokenizer, int], Iterator[Example]] = examples) -> None:
    """Train on the examples that `source` makes for a tokenizer and a seed, and export to a folder."""
    minutes, seed, first, rate = settings.minutes, settings.seed, settings.first, settings.rate
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    tokenizer = train_tokenizer() if first is None else Tokenizer.from_file(str(first / "tokenizer.json"))
    network = Network()
    if first is not None:
        restore(network, first)
    matrices = [p for layer in network.layers for p in layer.parameters() if p.ndim == 2]
    norms = [p for p in network.parameters() if p.ndim == 1]
    muon = torch.optim.Muon(matrices, lr=MATRIX_RATE, weight_decay=0.02, momentum=0.95, adjust_lr_fn="match_rms_adamw")
    adam = torch.optim.AdamW([network.embedding, *norms], lr=OTHER_RATE, betas=(0.9, 0.98), weight_decay=0.0)
    print(f"{sum(p.numel() for p in network.parameters()):,} parameters", flush=True)
    held_out = write_corpus.held_out()
    begun, saved, seen, smooth = time.monotonic(), 0.0, 0, None
    for step, pieces in enumerate(steps(source(tokenizer, seed))):
        elapsed = (time.monotonic() - begun) / 60
        if elapsed >= minutes:
            break
        progress = elapsed / minutes
        warm = min(1.0, (step + 1) / (100 if first is None else 30))
        share = rate * warm * min(1.0, (1 - progress) / (0.85 if first is None else 1.0))
        muon.param_groups[0]["lr"], adam.param_groups[0]["lr"] = MATRIX_RATE * share, OTHER_RATE * share
        batches = [tensors_of(piece) for piece in pieces]
        scale = sum(float(weights.sum()) for *_, weights in batches)
        loss_sum = 0.0
        for ids, chosen, targets, weights in batches:
            with torch.autocast("cpu", torch.bfloat16):
                logits = network(ids, chosen)
            losses = functional.cross_entropy(logits.float(), targets, reduction="none")
            ((losses * weights).sum() / scale).backward()  # type: ignore[no-untyped-call]
            loss_sum += float((losses.detach() * weights).sum())
            seen += ids.numel()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        muon.step()  # type: ignore[no-untyped-call]
        adam.step()
        network.zero_grad(set_to_none=True)
        smooth = loss_sum / scale if smooth is None else 0.95 * smooth + 0.05 * loss_sum / scale
        if step % 50 == 0:
            pace = seen / (time.monotonic() - begun)
            print(
                f"{elapsed:6.1f} min  step {step}  {seen / 1e6:.2f} M tokens  {pace:.0f}/s  loss {smooth:.4f}",
                flush=True,
            )
        if elapsed - saved >= settings.save_every:
            saved = elapsed
            export(network, tokenizer, folder)
            score = teacher_forced(network, tokenizer, held_out)
            print(
                f"{elapsed:6.1f} min  saved; held-out {sum(score.values()) / len(score):.3f}  "
                + " ".join(f"{task}={share:.2f}" for task, share in score.items()),
                flush=True,
            )
    export(network, tokenizer, folder)


@torch.no_grad()
def teacher_forced(network: Network, tokenizer: Tokenizer, rows: list[tuple[str, Row]]) -> dict[str, float]:
    """Share of held-out answers whose every token is the most likely one: what greedy decoding would write."""
    shares: dict[str, list[bool]] = defaultdict(list)
    for task, row in rows:
        if row.contains or row.keys:
            continue
        right = False
        for answer in row.accept or (row.answer,):
            ids, chosen, targets, weights = tensors_of(encode(tokenizer, [(row.prompt, answer)]))
            right |= bool(((network(ids, chosen).argmax(-1) == targets) | (weights == 0)).all())
        shares[task].append(right)
    return {task: sum(right) / len(right) for task, right in shares.items()}


# ---------------------------------------------------------------- evaluation


def evaluate(folder: Path) -> None:
    """Print the share of right greedy answers per task, as detent's own model writes them."""
    from detent.models.embedded import load_model

    model = load_model(folder)
    end = set(model.vocabulary.eos_token_ids)
    shares: dict[str, list[bool]] = defaultdict(list)
    for task, row in write_corpus.held_out():
        session = model.start(model.encode(row.prompt))
        answer: list[int] = []
        while len(answer) < 300 and (token := int(session.logits.argmax())) not in end:
            answer.append(token)
            session.append([token])
        shares[task].append(len(answer) < 300 and judge(row, model.decode(answer)))
    for task, right in shares.items():
        print(f"| {task} | {sum(right)} of {len(right)} |")
    total = [one for right in shares.values() for one in right]
    print(f"| all | {sum(total)} of {len(total)} ({sum(total) / len(total):.1%}) |")


def judge(row: Row, answer: str) -> bool:
    """Judge an answer by the row's own rule."""
    if row.contains:
        return all(text in answer for text in row.contains)
    if row.keys:
        try:
            return list(json.loads(answer)) == list(row.keys)
        except ValueError:
            return False
    return answer in (row.accept or (row.answer,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=75.0, help="wall-clock budget of the training")
    parser.add_argument("--save-every", type=float, default=5.0, help="minutes between two exports")
    parser.add_argument("--from", type=Path, dest="first", metavar="FOLDER", help="continue from these weights")
    parser.add_argument("--rate", type=float, default=1.0, help="factor of the learning rates; lower it with --from")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("weights"))
    parser.add_argument("--evaluate", type=Path, metavar="FOLDER", help="print the table of a trained folder, and stop")
    arguments = parser.parse_args()
    if arguments.evaluate is None:
        settings = Training(arguments.minutes, arguments.seed, arguments.save_every, arguments.first, arguments.rate)
        train(settings, arguments.out)
    evaluate(arguments.evaluate or arguments.out)


if __name__ == "__main__":
    main()
