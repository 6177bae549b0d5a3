"""Continuous batching of transformers on a real tiny model: each request is held to its own guide."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import detent
from detent.errors import ArgumentError, LimitError, StateError
from detent.models import Chat

torch = pytest.importorskip("torch", reason="needs torch")
transformers = pytest.importorskip("transformers", reason="needs transformers")

from transformers import GenerationConfig  # noqa: E402
from transformers.generation.configuration_utils import ContinuousBatchingConfig  # noqa: E402

from detent.integrations.continuous_batching import ContinuousProcessor  # noqa: E402
from tests.support.gpu import needs_gpu  # noqa: E402
from write_transformers import write_transformers  # noqa: E402

PROMPTS = ["Pick a number.", "Can we talk?", "Who is William?"]
SCHEMA = {
    "type": "object",
    "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 150}},
    "required": ["age"],
    "additionalProperties": False,
}


class Host:
    """The embedded model in transformers."""

    def __init__(self, folder: Any, device: str) -> None:
        write_transformers(folder)
        self.own = detent.load_model()
        self.vocabulary = self.own.vocabulary
        self.end = self.vocabulary.eos_token_ids[0]
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).to(device)

    def guide(self, rule: Any) -> detent.Guide:
        return detent.compile(rule, self.vocabulary, canonical=True)

    def ids(self, prompt: str) -> list[int]:
        return self.own.encode_chat(Chat(prompt))

    @contextmanager
    def manager(self, processor: ContinuousProcessor, *, do_sample: bool = True, **options: Any) -> Iterator[Any]:
        config = ContinuousBatchingConfig(**{"num_blocks": 64, "max_batch_tokens": 64, "page_size": 16, **options})
        generation = GenerationConfig(
            do_sample=do_sample, max_new_tokens=48, eos_token_id=self.end, pad_token_id=self.end
        )
        manager = self.model.init_continuous_batching(generation, config)
        processor.attach(manager)
        manager.start()
        try:
            yield manager
        finally:
            manager.stop(block=True)

    def text(self, out: Any) -> str:
        assert out.error is None, out.error
        *ids, end = out.generated_tokens
        assert end == self.end, out
        return self.vocabulary.decode(ids).decode()


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=needs_gpu)])
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Host:
    return Host(tmp_path_factory.mktemp("model"), request.param)


def results(manager: Any, count: int) -> dict[str, Any]:
    """Return the results of requests by their ids."""
    found = [manager.get_result(timeout=60) for _ in range(count)]
    assert None not in found
    return {each.request_id: each for each in found}


def test_each_request_has_its_own_rule(host: Host) -> None:
    rules = {
        "digits": (host.guide(detent.regex("[0-9]{3}")), lambda text: re.fullmatch("[0-9]{3}", text)),
        "choice": (host.guide(["red", "green"]), lambda text: text in ("red", "green")),
        "json": (host.guide(SCHEMA), lambda text: 0 <= json.loads(text)["age"] <= 150),
        "grammar": (
            host.guide(detent.gbnf('root ::= [0-9]+ | "(" root ")"')),
            lambda text: re.fullmatch(r"\(*[0-9]+\)*", text) and text.count("(") == text.count(")"),
        ),
    }
    processor = ContinuousProcessor(host.vocabulary)
    with host.manager(processor) as manager:
        asked = {
            manager.add_request(host.ids(prompt), max_new_tokens=20, guide=guide): name
            for name, (guide, _) in rules.items()
            for prompt in PROMPTS
        }
        free = manager.add_request(host.ids(PROMPTS[0]), max_new_tokens=4)
        found = results(manager, len(asked) + 1)
    for name, kind in asked.items():
        assert rules[kind][1](host.text(found[name])), (kind, found[name])
    assert len(found[free].generated_tokens) <= 4
    assert not processor.failures


def test_the_texts_are_those_of_generate(host: Host) -> None:
    from detent.integrations.transformers import LogitsProcessor

    guide = host.guide(SCHEMA)
    expected = []
    for prompt in PROMPTS:
        ids = torch.tensor([host.ids(prompt)]).to(host.model.device)
        row = host.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            logits_processor=[LogitsProcessor(guide, max_new_tokens=48)],
            max_new_tokens=48,
            do_sample=False,
        )[0]
        expected.append(row[ids.shape[1] :].tolist())
    processor = ContinuousProcessor(host.vocabulary, guide)
    with host.manager(processor, do_sample=False) as manager:
        names = [manager.add_request(host.ids(prompt)) for prompt in PROMPTS]
        found = results(manager, len(names))
    assert [found[name].generated_tokens for name in names] == expected


def test_requests_that_are_put_back_go_on(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few blocks, requests lose theirs and are read again: their texts become part of their prompts."""
    from transformers.generation.continuous_batching.requests import RequestState

    put_back = []
    original = RequestState.create_equivalent_initial_request

    def noted(state: Any) -> Any:
        put_back.append(len(state.generated_tokens))
        return original(state)

    monkeypatch.setattr(RequestState, "create_equivalent_initial_request", noted)
    guide = host.guide(detent.regex("([a-z]{1,6} ){12,20}end"))
    processor = ContinuousProcessor(host.vocabulary, guide)
    with host.manager(processor, num_blocks=8, page_size=8, max_batch_tokens=16) as manager:
        names = [manager.add_request(host.ids(prompt), max_new_tokens=48, guide=guide) for prompt in PROMPTS]
        found = results(manager, len(names))
    assert any(put_back)
    for name in names:
        assert guide.language.accepts(host.text(found[name])), found[name]
    assert not processor.failures


def test_an_error_ends_one_request(host: Host) -> None:
    other = detent.compile(detent.regex("a"), detent.Vocabulary([b"a", b""], eos_token_ids=[1]))
    processor = ContinuousProcessor(host.vocabulary)
    with host.manager(processor) as manager:
        good = manager.add_request(host.ids(PROMPTS[0]), guide=host.guide(["red", "green"]))
        foreign = manager.add_request(host.ids(PROMPTS[0]), guide=other)
        short = manager.add_request(host.ids(PROMPTS[0]), max_new_tokens=2, guide=host.guide(detent.regex("[0-9]{9}")))
        endless = manager.add_request(host.ids(PROMPTS[0]), max_new_tokens=5, eos_token_id=7, guide=host.guide(["a"]))
        found = results(manager, 4)
    assert host.text(found[good]) in ("red", "green")
    for name, error in ((foreign, ArgumentError), (short, LimitError), (endless, ArgumentError)):
        assert set(found[name].generated_tokens) == {host.end}  # an empty text, and never one without a rule
        with pytest.raises(error):
            processor.raise_failure(name)
    processor.raise_failure(good)
    assert set(processor.failures) == {foreign, short, endless}


def test_an_id_may_be_used_again(host: Host) -> None:
    """A second request of an id has its own rule, and not the failure of the first one."""
    digits = host.guide(detent.regex("[0-9]{9}"))
    processor = ContinuousProcessor(host.vocabulary)
    with host.manager(processor) as manager:
        for count, guide in ((2, digits), (20, digits), (20, host.guide(["red", "green"])), (20, digits)):
            manager.add_request(host.ids(PROMPTS[0]), request_id="same", max_new_tokens=count, guide=guide)
            (out,) = results(manager, 1).values()
            if count > 2:
                assert guide.language.accepts(host.text(out))
                assert not processor.failures
            else:
                with pytest.raises(LimitError):
                    processor.raise_failure("same")


def test_the_states_of_ended_requests_are_forgotten(host: Host) -> None:
    guide = host.guide(["red", "green"])
    processor = ContinuousProcessor(host.vocabulary, guide)
    with host.manager(processor) as manager:
        names = [manager.add_request(host.ids(PROMPTS[0])) for _ in range(80)]
        found = results(manager, len(names))
    assert {host.text(found[name]) for name in names} <= {"red", "green"}
    assert len(processor._states) <= 64


def test_a_token_that_the_rule_refused_is_a_failure(host: Host) -> None:
    """Another processor after ours may write what it likes: the next pass shows it."""

    class Spoils:
        supports_continuous_batching = True

        def __call__(self, input_ids: Any, scores: Any) -> Any:
            scores = scores.clone()
            scores[:, 5] = 1e9
            return scores

    processor = ContinuousProcessor(host.vocabulary, host.guide(detent.regex("[0-9]{3}")))
    config = ContinuousBatchingConfig(num_blocks=64, max_batch_tokens=64, page_size=16)
    generation = GenerationConfig(max_new_tokens=4, eos_token_id=host.end, pad_token_id=host.end)
    manager = host.model.init_continuous_batching(generation, config)
    processor.attach(manager)
    manager.logit_processor.logits_processor.append(Spoils())
    manager.start()
    name = manager.add_request(host.ids(PROMPTS[0]))
    results(manager, 1)
    manager.stop(block=True)
    with pytest.raises(StateError, match="another processor"):
        processor.raise_failure(name)


def test_what_cannot_be_held_is_refused(host: Host) -> None:
    processor = ContinuousProcessor(host.vocabulary, ["a"])
    generation = GenerationConfig(max_new_tokens=4, eos_token_id=host.end, pad_token_id=host.end)
    for option in ("use_async_batching", "use_cuda_graph"):
        config = ContinuousBatchingConfig(num_blocks=64, max_batch_tokens=64)
        manager = host.model.init_continuous_batching(generation, config)
        setattr(manager.continuous_batching_config, option, True)
        with pytest.raises(ArgumentError, match=option):
            processor.attach(manager)
    with host.manager(processor) as manager:
        with pytest.raises(ArgumentError, match="before"):
            ContinuousProcessor(host.vocabulary).attach(manager)
        wrong = manager.add_request(host.ids(PROMPTS[0]), guide="not a guide")
        assert "Guide" in manager.get_result(wrong, timeout=60).error
    with pytest.raises(ArgumentError, match="Vocabulary"):
        ContinuousProcessor("tokens")  # type: ignore[arg-type]
