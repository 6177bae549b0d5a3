"""Each kind of rule in the engines that need no environment of their own: transformers, JAX, and the rows of Ray.

The other engines write the same cases in `tests/integrations/engines`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import detent
from detent.integrations.engine import Constraint
from tests.integrations.engines.cases import PROMPTS, cases, chat_ids, check_text, embedded_model
from write_transformers import write_transformers

pytestmark = pytest.mark.long
BUDGET = 64


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The embedded model in transformers."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("folder")
    write_transformers(folder)
    return transformers.AutoModelForCausalLM.from_pretrained(folder).float()


@pytest.mark.parametrize("way", ["LogitsProcessor", "CustomGenerate"])
@pytest.mark.parametrize("name", cases())
def test_transformers(llama: Any, name: str, way: str) -> None:
    torch = pytest.importorskip("torch")
    from detent.integrations.custom_generate import CustomGenerate
    from detent.integrations.transformers import LogitsProcessor

    case, vocabulary = cases()[name], embedded_model().vocabulary
    guide = Constraint(case.rule, **case.options).compile(vocabulary)
    for seed, prompt in enumerate(PROMPTS):
        ids = torch.tensor([chat_ids(prompt)])
        if way == "CustomGenerate":
            own: dict[str, Any] = {"custom_generate": CustomGenerate(case.rule, vocabulary, seed=seed, **case.options)}
        else:
            torch.manual_seed(seed)
            own = {"logits_processor": [LogitsProcessor(guide, max_new_tokens=BUDGET)]}
        options = {"attention_mask": torch.ones_like(ids), "do_sample": True, "max_new_tokens": BUDGET}
        (row,) = llama.generate(ids, **options, **own)
        tokens = row[ids.shape[1] :].tolist()
        check_text(
            name, vocabulary.decode(tokens[: tokens.index(0)] if 0 in tokens else tokens).decode(), vocabulary, tokens
        )


def test_transformers_refuses_wrong_rules(llama: Any) -> None:
    from detent.integrations.custom_generate import CustomGenerate
    from detent.integrations.transformers import LogitsProcessor

    vocabulary = embedded_model().vocabulary
    for wrong in ({"type": "nonsense"}, {"type": "integer", "minimum": 2, "maximum": 1}):
        with pytest.raises(detent.DetentError):
            LogitsProcessor(wrong, vocabulary)
        with pytest.raises(detent.DetentError):
            ids = np.array([chat_ids(PROMPTS[0])])
            torch = import_module("torch")
            llama.generate(torch.from_numpy(ids), custom_generate=CustomGenerate(wrong, vocabulary), max_new_tokens=8)


def test_jax() -> None:
    """One compiled loop; a row for each rule. A table is finite: grammars have ten bytes, canonical texts few words."""
    jax = pytest.importorskip("jax")
    from detent.jax import init
    from detent.models.safetensors import read_safetensors

    loop = import_module("examples.table_jax_loop")
    vocabulary = embedded_model().vocabulary
    given = {name: (case.rule, case.options) for name, case in cases().items()}
    given["grammar"] = given["grammar"][0] & detent.regex("[0-9+()]{1,10}"), {}
    given["canonical"] = detent.regex("(red|green|blue) [0-9]{2}"), {"canonical": True}
    table = detent.stack_tables(
        [Constraint(rule, **{"canonical": False} | own).compile(vocabulary).to_table() for rule, own in given.values()]
    )
    weights = {
        name: jax.numpy.asarray(array) for name, array in read_safetensors(loop.FOLDER / "model.safetensors").items()
    }
    for prompt in PROMPTS:
        ids = chat_ids(prompt)
        state = init(table, list(range(len(given))), max_tokens=loop.MAX_TOKENS)
        found, _ = loop.decode(weights, jax.numpy.asarray([ids] * len(given)), state)
        for name, row in zip(given, np.asarray(found).tolist(), strict=True):
            tokens = row[: row.index(0)] if 0 in row else row
            check_text(name, vocabulary.decode(tokens).decode(), vocabulary, tokens)
    with pytest.raises(detent.LimitError):
        detent.compile(cases()["grammar"].rule, vocabulary).to_table()  # has no finite table


def test_the_rows_of_ray() -> None:
    pytest.importorskip("pyarrow")
    from detent.ray.rows import RowGenerator

    rows = [(name, prompt, seed) for name in cases() for seed, prompt in enumerate(PROMPTS)]

    def ask(row: Any) -> detent.Request:
        name, prompt, seed = row["of"]
        case = cases()[name]
        return detent.Request(prompt, case.rule, max_tokens=BUDGET, seed=seed, **case.options)

    found = RowGenerator(embedded_model(), ask, 16)([{"of": row} for row in rows])
    for (name, _, _), result in zip(rows, found, strict=True):
        assert result.error is None
        check_text(name, result.text, embedded_model().vocabulary)
