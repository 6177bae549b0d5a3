"""Texts of a model on a GPU, in each precision: every way of decoding holds every row to its rule."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import detent
from detent.models import Chat, Transformers

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")

from detent.integrations.custom_generate import CustomGenerate  # noqa: E402
from detent.integrations.transformers import LogitsProcessor  # noqa: E402
from detent.torch import TableLogitsProcessor, TableProcessor  # noqa: E402
from tests.support.gpu import needs_gpu, without_synchronising  # noqa: E402
from write_transformers import write_transformers  # noqa: E402

pytestmark = [
    needs_gpu,
    # What PyTorch says where transformers compiles a model for its static cache.
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning",
        "ignore:The CUDA Graph is empty:UserWarning",
        "ignore:TensorFloat32 tensor cores:UserWarning",
    ),
]

SCHEMA = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 150}, "name": {"enum": ["Ann", "Bo"]}},
    "required": ["age", "name"],
    "additionalProperties": False,
}
PROMPTS = ["Pick a number.", "Who is William? Tell me of his life, of his plays, and of his age.", "Can we talk?"]
MODES: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "sampling": {"do_sample": True, "temperature": 1.5},
    "warpers": {"do_sample": True, "top_k": 5, "top_p": 0.9, "repetition_penalty": 1.2},
    "several": {"do_sample": True, "num_return_sequences": 3},
    "beams": {"num_beams": 4, "num_return_sequences": 2, "do_sample": False},
    "static cache": {"do_sample": False, "cache_implementation": "static"},
}


class Host:
    """The embedded model in transformers, on a GPU."""

    def __init__(self, folder: Path, dtype: str) -> None:
        write_transformers(folder)
        self.own = detent.load_model()
        self.vocabulary = self.own.vocabulary
        self.end = self.vocabulary.eos_token_ids[0]
        load = transformers.AutoModelForCausalLM.from_pretrained
        self.model = load(folder, dtype=getattr(torch, dtype)).eval().cuda()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.reads = Transformers(self.model, tokenizer, chat=True)

    def inputs(self, prompts: list[str] = PROMPTS) -> dict[str, Any]:
        ids = [self.own.encode_chat(Chat(prompt)) for prompt in prompts]
        width = max(map(len, ids))
        padded = [[self.end] * (width - len(row)) + row for row in ids]
        seen = [[0] * (width - len(row)) + [1] * len(row) for row in ids]
        return {"input_ids": torch.tensor(padded).cuda(), "attention_mask": torch.tensor(seen).cuda()}

    def texts(self, processor: Any, inputs: dict[str, Any], **options: Any) -> list[str]:
        rows = self.model.generate(
            **inputs, logits_processor=[processor], eos_token_id=self.end, pad_token_id=self.end, **options
        )
        assert rows.device.type == "cuda"
        texts = []
        for row in rows[:, inputs["input_ids"].shape[1] :].tolist():
            texts.append(self.vocabulary.decode(row[: row.index(self.end)]).decode())
        return texts


@pytest.fixture(scope="module", params=["float32", "float16", "bfloat16"])
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Host:
    return Host(tmp_path_factory.mktemp("model"), request.param)


def rules() -> list[detent.Language]:
    """Return one rule for each prompt."""
    return [detent.regex("[0-9]{1,4}"), detent.json_schema(SCHEMA), detent.regex("(yes|no)( yes| no){0,9}")]


@pytest.mark.parametrize("options", MODES.values(), ids=MODES)
def test_generate(host: Host, options: dict[str, Any]) -> None:
    guides = [detent.compile(rule, host.vocabulary) for rule in rules()]
    for seed in range(2):
        torch.manual_seed(seed)
        processor = LogitsProcessor(guides, max_new_tokens=40)
        texts = host.texts(processor, host.inputs(), max_new_tokens=40, **options)
        each = len(texts) // len(guides)
        for row, text in enumerate(texts):
            assert guides[row // each].language.accepts(text), text


@pytest.mark.parametrize("budget", [None, 39])
@pytest.mark.parametrize("options", MODES.values(), ids=MODES)
def test_generate_with_a_table(host: Host, options: dict[str, Any], budget: int | None) -> None:
    held = [detent.regex("[0-9]{1,4}"), detent.date(), detent.regex("(yes|no)( yes| no){0,9}")]
    table = detent.stack_tables([detent.compile(rule, host.vocabulary).to_table() for rule in held])
    inputs = host.inputs()
    processor = TableLogitsProcessor(
        TableProcessor(table).cuda(),
        inputs["input_ids"].shape[1],
        constraints=torch.arange(3),
        max_tokens=budget,
    )
    torch.manual_seed(0)
    texts = host.texts(processor, inputs, max_new_tokens=40, **options)
    each = len(texts) // len(held)
    for row, text in enumerate(texts):
        assert held[row // each].accepts(text), text


@pytest.mark.parametrize("options", [{"prompt_lookup_num_tokens": 3}, {"assistant": True}], ids=str)
def test_drafts(host: Host, options: dict[str, Any]) -> None:
    guide = detent.compile(detent.json_schema(SCHEMA), host.vocabulary)
    drafts = {"assistant_model": host.model} if options.pop("assistant", False) else options
    plain = host.texts(LogitsProcessor(guide), host.inputs(PROMPTS[:1]), max_new_tokens=60, do_sample=False)
    again = host.texts(LogitsProcessor(guide), host.inputs(PROMPTS[:1]), max_new_tokens=60, do_sample=False, **drafts)
    assert guide.language.accepts(again[0])
    if host.model.dtype == torch.float32:
        assert plain == again


def test_detents_own_loop(host: Host) -> None:
    for rule in rules():
        asked = [detent.Request(prompt, rule, max_tokens=40, samples=2, seed=0) for prompt in PROMPTS]
        outputs = detent.generate_batch(host.reads, asked, batch_size=4)
        assert all(rule.accepts(output.text) for output in outputs)
        if host.model.dtype == torch.float32:
            greedy = [detent.generate(each, PROMPTS[0], rule, temperature=0) for each in (host.reads, host.own)]
            assert greedy[0].text == greedy[1].text


def test_custom_generate(host: Host) -> None:
    generate = CustomGenerate(detent.regex("[a-e]{12}"), host.vocabulary, ban=["aa", "bc"], seed=1)
    host.model.generate(
        **host.inputs(), custom_generate=generate, max_new_tokens=20, do_sample=True,
        eos_token_id=host.end, pad_token_id=host.end,
    )  # fmt: skip
    for output in generate.outputs:
        assert re.fullmatch("[a-e]{12}", output.text)
        assert not re.search("aa|bc", output.text)


def test_a_chat_with_a_schema(host: Host) -> None:
    output = detent.generate(host.reads, "Who is it?", SCHEMA, max_tokens=60, seed=2)
    assert set(json.loads(output.text)) == {"age", "name"}


def test_scores_on_a_gpu_are_masked_as_on_a_cpu(host: Host) -> None:
    """Scores of any layout, wider than the vocabulary; they stay as they are, and the result is exact."""
    guide = detent.compile(detent.json_schema(SCHEMA), host.vocabulary)
    rng, width = np.random.default_rng(0), len(host.vocabulary) + 64
    ids = torch.tensor([[5], [6]])
    on_gpu, on_cpu = LogitsProcessor(guide), LogitsProcessor(guide)
    for _ in range(12):
        scores = torch.from_numpy(rng.normal(size=(width, 2))).to(host.model.dtype).T
        there = scores.cuda()
        masked = on_gpu(ids.cuda(), there)
        assert torch.equal(masked.cpu(), on_cpu(ids, scores))
        assert torch.equal(there.cpu(), scores)
        ids = torch.cat([ids, masked.argmax(dim=1).cpu()[:, None]], dim=1)


def test_a_table_step_of_generate_does_not_synchronise(host: Host) -> None:
    table = detent.compile(detent.regex("[0-9]{1,4}"), host.vocabulary).to_table()
    processor = TableLogitsProcessor(TableProcessor(table).cuda(), 2, max_tokens=20)
    ids, width = torch.full((3, 2), 5, device="cuda"), len(host.vocabulary)
    scores = torch.randn(3, width, dtype=host.model.dtype, device="cuda")
    processor(ids, scores)  # compiles
    processor = TableLogitsProcessor(TableProcessor(table).cuda(), 2)
    with without_synchronising():
        for _ in range(4):
            ids = torch.cat([ids, processor(ids, scores).argmax(dim=1)[:, None]], dim=1)
    assert detent.regex("[0-9]{1,4}").accepts(host.vocabulary.decode(ids[0, 2:].tolist()))
