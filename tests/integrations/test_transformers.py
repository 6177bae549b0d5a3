"""The logits processor inside transformers' own decoding: every way of decoding, every row in its guide."""

from __future__ import annotations

import copy
import re
import shutil
import threading
import tracemalloc
from itertools import product
from typing import Any

import pytest

import detent
from detent.errors import ArgumentError, LimitError, ModelError, StateError
from detent.integrations.transformers import LogitsProcessor

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("transformers", reason="needs transformers")

from transformers import CompileConfig, pipeline  # noqa: E402

from tests.support import tiny_llama  # noqa: E402

PAD, EOS = 0, 2
WIDTH = tiny_llama.PADDED_WIDTH


class Bench:
    """A tiny model, its tokenizer, and the texts that generate writes with a processor."""

    def __init__(self) -> None:
        self.tokenizer = tiny_llama.tokenizer()
        self.model = tiny_llama.model()
        self.vocabulary = detent.Vocabulary.from_transformers(self.tokenizer, size=WIDTH)

    def guide(self, pattern: str) -> detent.Guide:
        return detent.compile(detent.regex(pattern), self.vocabulary)

    def ids(self, processor: LogitsProcessor, prompts: str | list[str], **options: Any) -> Any:
        inputs = self.tokenizer([prompts] if isinstance(prompts, str) else prompts, return_tensors="pt", padding=True)
        if "generation_config" not in options:
            options = {"max_new_tokens": 40, **options}
        options = {"do_sample": False, **options}
        output = self.model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            logits_processor=[processor],
            pad_token_id=PAD,
            **options,
        )
        return output[:, inputs["input_ids"].shape[1] :]

    def texts(self, processor: LogitsProcessor, prompts: str | list[str], **options: Any) -> list[str]:
        texts = []
        for row in self.ids(processor, prompts, **options).tolist():
            assert EOS in row, "the row has not ended"
            end = row.index(EOS)
            assert set(row[end + 1 :]) <= {PAD, EOS}
            texts.append(self.vocabulary.decode(row[:end]).decode())
        return texts


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]"
WORDS = "(yes|no|maybe)( (yes|no|maybe)){0,3}"
PROMPTS = ["the answer is", "a", "in the morning and in the evening yes no"]
MODES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True, "temperature": 1.5},
    "sampling with warpers": {"do_sample": True, "top_k": 5, "top_p": 0.9, "min_p": 0.01, "repetition_penalty": 1.2},
    "several sequences": {"do_sample": True, "num_return_sequences": 3},
    "beams": {"num_beams": 4, "num_return_sequences": 4},
    "beams with early stopping": {"num_beams": 3, "early_stopping": True, "length_penalty": 2.0},
    "beam sampling": {"num_beams": 3, "do_sample": True},
    "without cache": {"use_cache": False},
}


@pytest.mark.parametrize("pattern", [DATE, WORDS])
@pytest.mark.parametrize("options", MODES.values(), ids=MODES)
def test_each_mode_of_decoding_with_left_padding(bench: Bench, pattern: str, options: dict[str, Any]) -> None:
    processor = LogitsProcessor(bench.guide(pattern))
    for seed in range(3):
        torch.manual_seed(seed)
        texts = bench.texts(processor, PROMPTS, **options)
        assert len(texts) == len(PROMPTS) * options.get("num_return_sequences", 1)
        for text in texts:
            assert re.fullmatch(pattern, text), text


@pytest.mark.parametrize("prompt_length", [None, 0], ids=["told from the calls", "given"])
@pytest.mark.parametrize("do_sample", [False, True], ids=["greedy", "sampling"])
@pytest.mark.parametrize("same", [True, False], ids=["assistant agrees", "assistant differs"])
def test_assisted_generation(bench: Bench, do_sample: bool, same: bool, prompt_length: int | None) -> None:
    assistant = bench.model if same else tiny_llama.model(seed=1, layers=1)
    for pattern in (DATE, WORDS, "(x|zq?){1,20}j"):
        guide = bench.guide(pattern)
        processor = LogitsProcessor(guide)
        for prompt in PROMPTS:
            if prompt_length is not None:
                processor = LogitsProcessor(guide, prompt_length=len(bench.tokenizer(prompt)["input_ids"]))
            torch.manual_seed(0)
            (text,) = bench.texts(processor, prompt, assistant_model=assistant, do_sample=do_sample, max_new_tokens=100)
            assert re.fullmatch(pattern, text)
            if not do_sample:
                assert [text] == bench.texts(LogitsProcessor(guide), prompt, max_new_tokens=100)


@pytest.mark.parametrize("tokens", [1, 3, 10])
@pytest.mark.parametrize("do_sample", [False, True], ids=["greedy", "sampling"])
def test_prompt_lookup(bench: Bench, tokens: int, do_sample: bool) -> None:
    processor = LogitsProcessor(bench.guide("((yes|no|[0-9]{2}) ?){4,9}"))
    for prompt in ("yes no 12 yes no 34 yes no 12", "12 12 12 12", "a"):
        torch.manual_seed(0)
        (text,) = bench.texts(
            processor, prompt, prompt_lookup_num_tokens=tokens, do_sample=do_sample, max_new_tokens=60
        )
        assert re.fullmatch("((yes|no|[0-9]{2}) ?){4,9}", text)
        if not do_sample:
            assert [text] == bench.texts(processor, prompt, max_new_tokens=60)


class TestBudget:
    @pytest.mark.parametrize("options", MODES.values(), ids=MODES)
    def test_texts_are_complete_within_max_new_tokens(self, bench: Bench, options: dict[str, Any]) -> None:
        pattern = "[a-z ]*!"
        for tokens in (2, 9):
            processor = LogitsProcessor(bench.guide(pattern), max_new_tokens=tokens)
            for row in bench.ids(processor, PROMPTS, **options, max_new_tokens=tokens).tolist():
                text = bench.vocabulary.decode(row[: row.index(EOS)] if EOS in row else row).decode()
                assert re.fullmatch(pattern, text), text

    def test_a_budget_that_no_text_fits(self, bench: Bench) -> None:
        with pytest.raises(LimitError, match=r"^max_new_tokens: max_tokens=2 is too few"):
            LogitsProcessor([bench.guide("a"), bench.guide(DATE)], max_new_tokens=2)
        with pytest.raises(ArgumentError, match="max_new_tokens, if it is no GenerationConfig, must be"):
            LogitsProcessor(bench.guide("a"), max_new_tokens=-1)
        with pytest.raises(ArgumentError, match="max_new_tokens, if it is no GenerationConfig, must be"):
            LogitsProcessor(bench.guide("a"), max_new_tokens="9")  # type: ignore[arg-type]

    @pytest.mark.filterwarnings("ignore:Using the model-agnostic default")
    @pytest.mark.parametrize("config", [{"max_new_tokens": 7}, {"max_length": 30}, {}], ids=str)
    @pytest.mark.parametrize("options", MODES.values(), ids=MODES)
    def test_the_budget_of_a_generation_config(
        self, bench: Bench, options: dict[str, Any], config: dict[str, int]
    ) -> None:
        pattern = "[a-z ]*!"
        generation = copy.deepcopy(bench.model.generation_config)
        generation.update(**config)
        processor = LogitsProcessor(bench.guide(pattern), max_new_tokens=generation)
        for prompts in (PROMPTS, ["yes no yes no"], PROMPTS):  # prompts of other lengths, the same processor
            rows = bench.ids(processor, prompts, **options, generation_config=generation)
            for row in rows.tolist():
                text = bench.vocabulary.decode(row[: row.index(EOS)] if EOS in row else row).decode()
                assert re.fullmatch(pattern, text), text

    def test_a_max_length_that_leaves_too_few_tokens(self, bench: Bench) -> None:
        generation = copy.deepcopy(bench.model.generation_config)
        generation.update(max_length=6)
        processor = LogitsProcessor(bench.guide(DATE), max_new_tokens=generation)
        with pytest.raises(LimitError, match="is too few"):
            bench.ids(processor, "yes no yes", generation_config=generation)


class TestRows:
    PATTERNS = ("[0-9]{3}", "(yes|no)", "[a-c]{1,5}!")

    @pytest.mark.parametrize(
        "options",
        [{}, {"num_beams": 3, "num_return_sequences": 2}, {"do_sample": True, "num_return_sequences": 2}],
        ids=str,
    )
    def test_one_guide_a_prompt(self, bench: Bench, options: dict[str, Any]) -> None:
        processor = LogitsProcessor([bench.guide(pattern) for pattern in self.PATTERNS])
        texts = bench.texts(processor, PROMPTS, **options)
        each = options.get("num_return_sequences", 1)
        for row, text in enumerate(texts):
            assert re.fullmatch(self.PATTERNS[row // each], text)

    def test_rows_are_independent_of_their_batch(self, bench: Bench) -> None:
        guides = [bench.guide(pattern) for pattern in self.PATTERNS]
        together = bench.texts(LogitsProcessor(guides), PROMPTS)
        alone = [bench.texts(LogitsProcessor(guide), prompt)[0] for guide, prompt in zip(guides, PROMPTS, strict=True)]
        assert together == alone

    def test_rows_that_do_not_divide(self, bench: Bench) -> None:
        with pytest.raises(ArgumentError, match="2 guides"):
            bench.texts(LogitsProcessor([bench.guide("a"), bench.guide("b")]), PROMPTS)


class TestReuse:
    def test_calls_with_other_prompts_and_numbers_of_rows(self, bench: Bench) -> None:
        processor = LogitsProcessor(bench.guide(DATE))
        for prompts in (PROMPTS, "a", ["b", "the answer is 42"], "a", PROMPTS, "the answer is", "the answer is 42"):
            for text in bench.texts(processor, prompts):
                assert re.fullmatch(DATE, text)

    def test_a_conversation(self, bench: Bench) -> None:
        processor = LogitsProcessor(bench.guide("[0-9 ]{5}"))
        ids = torch.tensor([[5, 6, 7]])
        for _ in range(4):
            out = bench.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                logits_processor=[processor],
                do_sample=False,
                max_new_tokens=9,
            )
            written = out[0, ids.shape[1] :].tolist()
            assert re.fullmatch("[0-9 ]{5}", bench.vocabulary.decode(written).decode())
            ids = torch.cat([out, torch.tensor([[30, 31]])], dim=1)

    def test_the_same_prompt_with_other_seeds(self, bench: Bench) -> None:
        processor = LogitsProcessor(bench.guide("[0-9]{6}"))
        texts = set()
        for seed in range(5):
            torch.manual_seed(seed)
            texts.update(bench.texts(processor, "a", do_sample=True))
        assert len(texts) > 1
        assert all(re.fullmatch("[0-9]{6}", text) for text in texts)

    def test_a_call_that_was_given_up(self, bench: Bench) -> None:
        processor = LogitsProcessor(bench.guide(DATE))
        for tokens in (1, 2, 3):
            bench.ids(processor, "the answer is", max_new_tokens=tokens)
            assert re.fullmatch(DATE, bench.texts(processor, "the answer is")[0])

    def test_its_own_output_as_a_prompt_goes_on_unless_told_otherwise(self, bench: Bench) -> None:
        guide = bench.guide("[0-9]{6}")
        ids = torch.tensor([[5, 6, 7]])
        for processor, digits in ((LogitsProcessor(guide), 6), (LogitsProcessor(guide, prompt_length=3), 6)):
            cut = bench.model.generate(ids, logits_processor=[processor], max_new_tokens=2, do_sample=False)
            out = bench.model.generate(cut, logits_processor=[processor], max_new_tokens=20, do_sample=False)
            assert len(bench.vocabulary.decode(out[0, 3:].tolist())) == digits
        processor = LogitsProcessor(guide)
        cut = bench.model.generate(ids, logits_processor=[processor], max_new_tokens=2, do_sample=False)
        processor.reset()
        out = bench.model.generate(cut, logits_processor=[processor], max_new_tokens=20, do_sample=False)
        assert len(bench.vocabulary.decode(out[0, 5:].tolist())) == 6

    def test_a_prompt_that_was_taken_for_the_last_call(self, bench: Bench) -> None:
        """One id more than the last call's: told where the guide does not allow it, and right when tried again."""
        processor = LogitsProcessor(bench.guide("[0-9]{6}"))
        ids, longer = torch.tensor([[5, 6, 7]]), torch.tensor([[5, 6, 7, 31]])
        options = {"logits_processor": [processor], "do_sample": False}
        bench.model.generate(ids, max_new_tokens=1, **options)
        with pytest.raises(StateError, match=r"token 31 .* reset\(\)"):
            bench.model.generate(longer, max_new_tokens=9, **options)
        out = bench.model.generate(longer, max_new_tokens=9, **options)
        assert re.fullmatch("[0-9]{6}", bench.vocabulary.decode(out[0, 4:].tolist()).decode())

    def test_threads_do_not_disturb_each_other(self, bench: Bench) -> None:
        processor = LogitsProcessor(bench.guide(DATE))
        texts: list[str] = []

        def work(prompt: str) -> None:
            for _ in range(3):
                texts.extend(bench.texts(processor, prompt))

        threads = [threading.Thread(target=work, args=(prompt,)) for prompt in PROMPTS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(texts) == 9
        assert all(re.fullmatch(DATE, text) for text in texts)


class TestScores:
    """The processor called by hand."""

    def allowed(
        self, bench: Bench, processor: LogitsProcessor, ids: list[list[int]], width: int = WIDTH
    ) -> list[set[bytes]]:
        scores = processor(torch.tensor(ids, dtype=torch.long), torch.zeros(len(ids), width))
        return [{bench.vocabulary.token_bytes(int(i)) for i in (row == 0).nonzero()} for row in scores]

    def token(self, bench: Bench, text: str) -> int:
        (token_id,) = bench.tokenizer(text)["input_ids"]
        return int(token_id)

    def test_scores_are_copied(self, bench: Bench) -> None:
        scores = torch.zeros(1, WIDTH)
        masked = LogitsProcessor(bench.guide("a"))(torch.tensor([[5]]), scores)
        assert (scores == 0).all()
        assert (masked == 0).sum() == 1

    @pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
    def test_dtypes_and_strides(self, bench: Bench, dtype: str) -> None:
        scores = torch.zeros(WIDTH, 2, dtype=getattr(torch, dtype)).T
        masked = LogitsProcessor(bench.guide("a"))(torch.tensor([[5], [6]]), scores)
        assert masked.dtype == scores.dtype
        assert (masked == 0).sum(dim=1).tolist() == [1, 1]

    def test_logits_wider_or_narrower_than_the_vocabulary(self, bench: Bench) -> None:
        processor = LogitsProcessor(bench.guide("[a-c]"))
        for width in (WIDTH, WIDTH + 1, WIDTH + 100, 301, 300):
            assert self.allowed(bench, processor, [[5]], width) == [{b"a", b"b", b"c"}]
        for width in (200, WIDTH + 1025):
            with pytest.raises(ArgumentError, match=f"{width} logits, but the guide is for {WIDTH} ids"):
                self.allowed(bench, processor, [[5]], width)

    def test_rows_may_come_in_any_order_and_be_taken_back(self, bench: Bench) -> None:
        processor = LogitsProcessor(bench.guide("x[zq]|z[jk]|q"), prompt_length=1)
        x, z, q = (self.token(bench, text) for text in "xzq")
        assert self.allowed(bench, processor, [[9, x], [9, z]]) == [{b"z", b"q"}, {b"j", b"k"}]
        assert self.allowed(bench, processor, [[9, z], [9, x], [9, q]]) == [{b"j", b"k"}, {b"z", b"q"}, {b"</s>"}]
        assert self.allowed(bench, processor, [[9]]) == [{b"x", b"z", b"q"}]
        assert self.allowed(bench, processor, [[9, x, z], [9, x, q]]) == [{b"</s>"}, {b"</s>"}]

    def test_long_rows_survive_eviction(self, bench: Bench) -> None:
        processor = LogitsProcessor(bench.guide("(x|z)*q"), prompt_length=0)
        x = self.token(bench, "x")
        for length in [*range(100), 3, 50, 99, 2]:
            assert self.allowed(bench, processor, [[x] * length]) == [{b"x", b"z", b"q"}]

    def test_rows_of_many_calls_are_forgotten(self, bench: Bench) -> None:
        """Short rows have few lengths and last ids; their number is bounded even so."""
        processor = LogitsProcessor(bench.guide("(x|z){9}"), prompt_length=0)
        tokens = [self.token(bench, text) for text in "xz"]
        for ids in product(tokens, repeat=8):
            assert self.allowed(bench, processor, [list(ids)]) == [{b"x", b"z"}]
        matchers = processor._local.matchers
        assert sum(map(len, matchers._rows.values())) == len(matchers._recent) == 64

    def test_a_step_copies_nothing_that_grows(self, bench: Bench) -> None:
        """The memory of NumPy and Python that a call takes at most is the same after 100 and after 20,000 tokens."""
        x = self.token(bench, "x")
        peaks = []
        for length in (100, 20_000):
            processor = LogitsProcessor(bench.guide("(x|z)*q"), prompt_length=0)
            ids = torch.full((2, length + 3), x)
            scores = torch.zeros(2, WIDTH)
            processor(ids[:, :length].contiguous(), scores)
            rows = [ids[:, : length + step].contiguous() for step in (1, 2)]
            processor(rows[0], scores)
            tracemalloc.start()
            processor(rows[1], scores)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert abs(peaks[1] - peaks[0]) < 2_000  # a copy of 20,000 ids takes 160,000 bytes

    @pytest.mark.parametrize("prompt_length", [None, 1])
    @pytest.mark.parametrize("pad", ["<pad>", "</s>", "x"])
    def test_a_row_that_has_ended_keeps_end_of_text_whatever_pads_it(
        self, bench: Bench, prompt_length: int | None, pad: str
    ) -> None:
        processor = LogitsProcessor(bench.guide("x|zx"), prompt_length=prompt_length)
        x, z, padding = (self.token(bench, text) for text in ("x", "z", pad))
        first, second = [9, x, EOS, padding, padding], [9, z, x, EOS, padding]
        self.allowed(bench, processor, [first[:1], second[:1]])
        assert self.allowed(bench, processor, [first[:2], second[:2]]) == [{b"</s>"}, {b"x"}]
        for length in (3, 4, 5):
            assert self.allowed(bench, processor, [first[:length], second[:length]]) == [{b"</s>"}] * 2

    @pytest.mark.parametrize("pad", [PAD, EOS, 3, 310])
    def test_a_row_that_the_host_ended_keeps_end_of_text(self, bench: Bench, pad: int) -> None:
        """As stop strings do: the row is padded although its text is not complete."""
        processor = LogitsProcessor(bench.guide("[xz]{9}"), prompt_length=1)
        x = self.token(bench, "x")
        assert self.allowed(bench, processor, [[9, x, pad]]) == [{b"</s>"}]
        assert self.allowed(bench, processor, [[9, x, pad, pad, pad]]) == [{b"</s>"}]
        with pytest.raises(StateError, match="follows padding"):
            self.allowed(bench, processor, [[9, x, pad, x]])

    def test_ids_outside_the_guide(self, bench: Bench) -> None:
        processor = LogitsProcessor(bench.guide("[xz]+"), prompt_length=1)
        x, q = self.token(bench, "x"), self.token(bench, "q")
        for _ in range(2):
            with pytest.raises(StateError, match=f"Row 0: token {q} .* prompt_length"):
                self.allowed(bench, processor, [[9, x, q]])
        with pytest.raises(StateError, match="Row 1"):
            self.allowed(bench, processor, [[9, x, x], [8, x, q]])
        assert self.allowed(bench, processor, [[9, x]]) == [{b"x", b"z", b"</s>"}]

    @pytest.mark.parametrize("prompt_length", [None, 1])
    def test_a_draft_may_leave_the_guide(self, bench: Bench, prompt_length: int | None) -> None:
        """Drafters that do not ask logits processors; what follows the first banned token is never taken."""
        processor = LogitsProcessor(bench.guide("[xz]{9}"), prompt_length=prompt_length)
        x, q = self.token(bench, "x"), self.token(bench, "q")
        for draft in ([9, x, q, x], [9, x, x, q, q]):
            candidate = torch.tensor([draft])
            cut = draft.index(q)
            for length in range(cut - 1, len(draft) + 1):
                scores = processor(candidate[:, :length], torch.zeros(1, WIDTH))
                allowed = {bench.vocabulary.token_bytes(int(i)) for i in (scores[0] == 0).nonzero()}
                assert allowed == ({b"x", b"z"} if length <= cut else {b"</s>"})

    def test_a_beam_that_lost_stays_lost(self, bench: Bench) -> None:
        """Beam sampling draws banned tokens where it finds too few; such beams score -inf and are never returned."""
        processor = LogitsProcessor(bench.guide("[xz]{9}"), prompt_length=1)
        x, q = self.token(bench, "x"), self.token(bench, "q")
        assert self.allowed(bench, processor, [[9, x], [9, q]]) == [{b"x", b"z"}, set()]
        assert self.allowed(bench, processor, [[9, x, x], [9, q, x]]) == [{b"x", b"z"}, set()]
        with pytest.raises(StateError):
            self.allowed(bench, processor, [[9, q, x], [9, q, q]])

    def test_a_beam_with_nothing_left_is_lost(self, bench: Bench) -> None:
        scores = torch.zeros(2, WIDTH)
        scores[1, self.token(bench, "x")] = -torch.inf
        masked = LogitsProcessor(bench.guide("x"))(torch.tensor([[5], [5]]), scores)
        assert (masked > -torch.inf).sum(dim=1).tolist() == [1, 0]

    def test_prompt_length_beyond_the_ids(self, bench: Bench) -> None:
        with pytest.raises(ArgumentError, match="prompt_length is 3"):
            self.allowed(bench, LogitsProcessor(bench.guide("a"), prompt_length=3), [[9, 9]])

    def test_no_prompt_ids_at_all(self, bench: Bench) -> None:
        """As with inputs_embeds: the first ids are those written."""
        processor = LogitsProcessor(bench.guide("xz"))
        assert self.allowed(bench, processor, [[]]) == [{b"x"}]
        assert self.allowed(bench, processor, [[self.token(bench, "x")]]) == [{b"z"}]

    @pytest.mark.parametrize("value", [-torch.inf, torch.nan])
    def test_a_row_with_nothing_left_is_an_error(self, bench: Bench, value: float) -> None:
        scores = torch.zeros(2, WIDTH)
        scores[1, self.token(bench, "a")] = value
        with pytest.raises(ModelError, match="Row 1"):
            LogitsProcessor(bench.guide("a"))(torch.tensor([[5], [6]]), scores)

    def test_nan_at_what_is_banned_is_banned(self, bench: Bench) -> None:
        scores = torch.full((1, WIDTH), torch.nan)
        scores[0, self.token(bench, "a")] = 0
        masked = LogitsProcessor(bench.guide("a"))(torch.tensor([[5]]), scores)
        assert (masked == 0).sum() == 1
        assert (masked == -torch.inf).sum() == WIDTH - 1

    def test_continuous_batching_is_refused(self, bench: Bench) -> None:
        processor = LogitsProcessor(bench.guide("a"))
        assert processor.supports_continuous_batching is False
        with pytest.raises(ArgumentError, match="continuous batching"):
            processor(torch.tensor([5, 6]), torch.zeros(2, WIDTH))  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="rows"):
            processor(torch.tensor([[5, 6]]), torch.zeros(2, WIDTH))  # type: ignore[arg-type]


def test_another_processor_that_rules_everything_out(bench: Bench) -> None:
    with pytest.raises(ModelError, match="another"):
        bench.texts(LogitsProcessor(bench.guide("[0-9]{3}")), "a", min_new_tokens=10)


def test_stop_strings_end_rows_one_by_one(bench: Bench) -> None:
    processor = LogitsProcessor([bench.guide("1.{5}"), bench.guide("2.{5}")])
    rows = bench.ids(processor, ["a", "b"], stop_strings=["1"], tokenizer=bench.tokenizer).tolist()
    assert bench.vocabulary.decode(rows[0]).startswith(b"1")
    assert PAD in rows[0]
    assert re.match(b"2.{5}", bench.vocabulary.decode(rows[1]), re.DOTALL)


def test_a_static_cache(bench: Bench) -> None:
    processor = LogitsProcessor(bench.guide(WORDS))
    expected = bench.texts(processor, PROMPTS)
    assert bench.texts(processor, PROMPTS, cache_implementation="static", disable_compile=True) == expected


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif(shutil.which("g++") is None, reason="PyTorch compiles with g++")
def test_a_static_cache_with_a_compiled_model() -> None:
    bench = Bench()
    processor = LogitsProcessor(bench.guide(WORDS))
    expected = bench.texts(processor, PROMPTS)
    compiling = CompileConfig(backend="inductor", mode="default", fullgraph=False)
    compiling._compile_all_devices = True  # without it, transformers compiles for GPUs alone
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    for _ in range(2):
        assert bench.texts(processor, PROMPTS, cache_implementation="static", compile_config=compiling) == expected
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
    torch._dynamo.reset()


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("do_sample", [False, True], ids=["greedy", "sampling"])
def test_a_pipeline(bench: Bench, batch: int, do_sample: bool) -> None:
    write = pipeline("text-generation", model=bench.model, tokenizer=bench.tokenizer)
    processor = LogitsProcessor(bench.guide(WORDS))
    options = {"batch_size": batch, "do_sample": do_sample, "max_new_tokens": 40, "pad_token_id": PAD}
    outputs = write(PROMPTS, logits_processor=[processor], return_full_text=False, **options)
    texts = [each[0]["generated_text"] for each in outputs]
    assert len(texts) == len(PROMPTS)
    assert all(re.fullmatch(WORDS, text) for text in texts), texts
    if not do_sample:
        assert texts == bench.texts(processor, PROMPTS)


def test_an_encoder_decoder() -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    config = T5Config(  # type: ignore[call-arg]
        vocab_size=WIDTH, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=4,
        pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=PAD,
    )  # fmt: skip
    t5 = T5ForConditionalGeneration(config).eval()
    vocabulary = detent.Vocabulary.from_transformers(tiny_llama.tokenizer(), size=WIDTH)
    processor = LogitsProcessor(detent.compile(detent.regex(DATE), vocabulary))
    ids = torch.tensor([[5, 6, 7, EOS], [8, 9, EOS, PAD]])
    for options in ({}, {"num_beams": 2}, {"do_sample": True}):
        out = t5.generate(
            ids, attention_mask=(ids != PAD).long(), logits_processor=[processor], max_new_tokens=40, **options
        )
        for row in out[:, 1:].tolist():
            assert re.fullmatch(DATE, vocabulary.decode(row[: row.index(EOS)]).decode())


class TestArguments:
    def test_no_guide(self, bench: Bench) -> None:
        for guides in ([], [None], [bench.guide("a"), "b"], detent.regex("a")):
            with pytest.raises(ArgumentError, match="Guide"):
                LogitsProcessor(guides)  # type: ignore[arg-type]

    def test_other_vocabularies(self, bench: Bench) -> None:
        equal = detent.Vocabulary.from_transformers(bench.tokenizer, size=WIDTH)
        other = detent.Vocabulary.from_transformers(bench.tokenizer, size=WIDTH + 1)
        LogitsProcessor([bench.guide("a"), detent.compile(detent.regex("b"), equal)])
        with pytest.raises(ArgumentError, match="same vocabulary"):
            LogitsProcessor([bench.guide("a"), detent.compile(detent.regex("b"), other)])

    def test_no_end_of_text(self) -> None:
        vocabulary = detent.Vocabulary([b"a"], eos_token_ids=None)
        with pytest.raises(ArgumentError, match="end-of-text"):
            LogitsProcessor(detent.compile(detent.regex("a"), vocabulary))

    @pytest.mark.parametrize("prompt_length", [-1, 1.0, "1", True])
    def test_prompt_length(self, bench: Bench, prompt_length: object) -> None:
        with pytest.raises(ArgumentError, match="prompt_length"):
            LogitsProcessor(bench.guide("a"), prompt_length=prompt_length)  # type: ignore[arg-type]


class TestRules:
    def test_a_rule_is_compiled_for_canonical_tokens(self, bench: Bench) -> None:
        canonical = detent.compile(detent.regex(DATE), bench.vocabulary, canonical=True)
        plain = detent.compile(detent.regex(DATE), bench.vocabulary)
        ids = bench.ids(LogitsProcessor(detent.regex(DATE), bench.vocabulary), PROMPTS).tolist()
        assert ids == bench.ids(LogitsProcessor(canonical), PROMPTS).tolist()
        assert (
            bench.ids(LogitsProcessor(plain, bench.vocabulary), PROMPTS).tolist()
            == bench.ids(LogitsProcessor(plain), PROMPTS).tolist()
        )

    def test_rules_of_all_kinds(self, bench: Bench) -> None:
        (text,) = bench.texts(LogitsProcessor(["yes", "no"], bench.vocabulary), "the answer is")
        assert text in ("yes", "no")
        rules: list[Any] = [detent.regex("a{3}"), bench.guide("b{3}"), int]
        first, second, third = bench.texts(LogitsProcessor(rules, bench.vocabulary), ["a", "b", "12"])
        assert (first, second) == ("aaa", "bbb")
        assert int(third) is not None

    def test_refused_rules(self, bench: Bench) -> None:
        for given in (detent.date(), "[0-9]", ["yes"], [detent.date()], 3):
            with pytest.raises(ArgumentError, match="needs the vocabulary of the model"):
                LogitsProcessor(given)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="at least one"):
            LogitsProcessor([], bench.vocabulary)
        with pytest.raises(ArgumentError, match=r"LogitsProcessor needs a language.*detent\.regex"):
            LogitsProcessor("[0-9]", bench.vocabulary)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="from_transformers"):
            LogitsProcessor(int, bench.tokenizer)
        with pytest.raises(ArgumentError, match="same vocabulary"):
            LogitsProcessor(bench.guide("a"), detent.Vocabulary([b"a", b""], eos_token_ids=[1]))
