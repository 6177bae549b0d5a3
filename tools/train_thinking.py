"""Continue the training of the embedded model, so that it thinks in two sentences and then calls a tool.

    python tools/train_thinking.py --minutes 5 --out build/thinking
    python tools/train_thinking.py --evaluate build/thinking

Ten of eleven examples are turns of `corpus/agents.py` in the notation of Qwen 3, after a prompt of the embedded chat
template; the eleventh is one of the model's own tasks, so that it does not forget them. The result is a folder for
`load_model`; `write_transformers.py` and `write_gguf.py` take it too, with ``--from``. It is no part of the package.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from tokenizers import Tokenizer

import detent
import train_model
from corpus import agents

WEIGHTS = Path(detent.__file__).parent / "models" / "weights"
HELD_OUT = 100


def examples(tokenizer: Tokenizer, seed: int) -> Iterator[train_model.Example]:
    """Training examples without end."""
    model = detent.load_model()
    make, others = agents.conversations(f"train {seed}"), train_model.examples(tokenizer, seed)
    end = tokenizer.get_vocab()[train_model.END]
    for number in count():
        for example in make(number):
            prompt = model.encode_chat(detent.Chat(example.messages, tools=example.tools))
            yield prompt, [*tokenizer.encode(agents.written(example)).ids, end]
        if number % 5 == 0:
            yield next(others)


def evaluate(folder: Path) -> None:
    """Print how many turns of new conversations are right, greedily and without a constraint."""
    model = detent.load_model(folder)
    make = agents.conversations("held out")
    right = {"calls": 0, "answers": 0, "turns of the rule": 0}
    for number in range(HELD_OUT):
        for example in make(number):
            rule = detent.turn(example.tools, style="qwen3", thinking="required")
            chat = detent.Chat(example.messages, tools=example.tools)
            text = detent.generate(model, chat, max_tokens=200, temperature=0).text
            right["turns of the rule"] += rule.accepts(text)
            right["calls" if example.call else "answers"] += text == agents.written(example)
    print(f"of {HELD_OUT} conversations, right to the letter: {right['calls']} calls, {right['answers']} answers")
    print(f"{right['turns of the rule']} of {2 * HELD_OUT} turns are texts of the rule, without a constraint")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="wall-clock budget of the training")
    parser.add_argument("--from", type=Path, dest="first", metavar="FOLDER", default=WEIGHTS)
    parser.add_argument("--rate", type=float, default=0.4, help="factor of the learning rates")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/thinking"))
    parser.add_argument("--evaluate", type=Path, metavar="FOLDER", help="evaluate a trained folder, and stop")
    options = parser.parse_args()
    if options.evaluate is None:
        settings = train_model.Training(options.minutes, options.seed, options.minutes, options.first, options.rate)
        train_model.train(settings, options.out, examples)
    evaluate(options.evaluate or options.out)


if __name__ == "__main__":
    main()
