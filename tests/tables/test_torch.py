"""Tables in PyTorch: as the reference, step for step; compiled in one piece; inside transformers' generate."""

from __future__ import annotations

import numpy as np
import pytest

import detent
from detent.tables import reference
from tests.support.table_constraints import TWO_ENDS, VOCABULARIES, random_tables

torch = pytest.importorskip("torch")

from detent.torch import TableLogitsProcessor, TableProcessor  # noqa: E402
from tests.support.gpu import needs_gpu, without_synchronising  # noqa: E402


def stack(vocabulary: detent.Vocabulary, seed: int, count: int = 6) -> detent.TokenDfa:
    return detent.stack_tables([table for _, table in random_tables(vocabulary, seed, count)])


@pytest.mark.parametrize("batch", [1, 7, 64])
@pytest.mark.parametrize("name", VOCABULARIES)
def test_as_the_reference(name: str, batch: int) -> None:
    table = stack(VOCABULARIES[name], seed=batch)
    rng = np.random.default_rng(batch)
    processor = TableProcessor(table)
    for budget in (None, 11):
        rows = rng.integers(0, len(table.starts), batch)
        states = table.starts[rows]
        if budget is not None:
            states = np.where(table.distance[states] <= budget, states, 0)
        state = processor.start(torch.tensor(rows), max_tokens=budget)
        left = None if budget is None else np.full(batch, budget, np.int32)
        for step in range(13):
            width = len(table.token_class) + int(rng.integers(0, 3))
            logits = rng.normal(size=(batch, width)).astype(np.float32)
            expected = reference.apply(table, logits, states, left)
            assert np.array_equal(expected, processor(torch.tensor(logits), state).numpy())
            tokens = expected.argmax(axis=1)
            if step == 9:  # whatever is not allowed refuses the row for good
                tokens[: batch // 2] = rng.integers(-3, width + 40, batch // 2)
            refused = tokens >= width if left is None else np.zeros(batch, bool)
            if left is not None:
                masked = np.full((batch, len(table.token_class) + 50), -np.inf, np.float32)
                masked[:, :width] = expected
                refused = ~np.isfinite(masked[np.arange(batch), tokens]) & (states != 1)
                left = left - 1
            states = np.where(refused & (states != 1), 0, reference.advance(table, states, tokens))
            state = processor.advance(state, torch.tensor(tokens))
            assert np.array_equal(states, state.states.numpy())


def test_another_models_logits_are_refused() -> None:
    vocabulary = detent.Vocabulary([b"a", b"b", b"", b"c", b"c"], eos_token_ids=[2])
    processor = TableProcessor(detent.compile(detent.regex("ab"), vocabulary).to_table())
    state = processor.start(1)
    assert processor(torch.zeros(1, 3), state).isfinite().tolist() == [[True, False, False]]  # no rule allows ids 3, 4
    for mask in (processor, processor.mask_):
        with pytest.raises(detent.ArgumentError, match="the logits have 2 ids, but the table allows id 2"):
            mask(torch.zeros(1, 2), state)
    with pytest.raises(detent.ArgumentError, match="the table holds 1 constraints; there is no number 7"):
        processor.start(torch.tensor([7]))
    with pytest.raises(detent.ArgumentError, match="there is no number -1"):
        processor.start(torch.tensor([0, -1]))


def test_taking_back() -> None:
    table = stack(TWO_ENDS, seed=3)
    rng = np.random.default_rng(0)
    processor, batch, reach = TableProcessor(table), 16, 4
    rows = rng.integers(0, len(table.starts), batch)
    state = processor.start(torch.tensor(rows), history=reach)
    paths = [[int(table.starts[row])] for row in rows]
    oldest = [0] * batch
    for _ in range(60):
        logits = torch.tensor(rng.normal(size=(batch, len(TWO_ENDS))).astype(np.float32))
        tokens = processor(logits, state).argmax(dim=1)
        state = processor.advance(state, tokens)
        for row, token in enumerate(tokens.tolist()):
            after = reference.advance(table, np.array(paths[row][-1:]), np.array([token]))
            paths[row].append(int(after[0]))
            oldest[row] = max(oldest[row], len(paths[row]) - 1 - reach)
        back = [int(rng.integers(0, len(path) - oldest[row])) for row, path in enumerate(paths)]
        state = processor.rollback(state, torch.tensor(back))
        for path, steps in zip(paths, back, strict=True):
            del path[len(path) - steps :]
        assert state.states.tolist() == [path[-1] for path in paths]
    beyond = processor.rollback(state, state.history_length + 1)
    assert (beyond.states == 0).all()
    assert (processor.rollback(state, torch.full((batch,), -1)).states == 0).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_in_one_piece() -> None:
    processor = TableProcessor(stack(TWO_ENDS, seed=4))
    rows = torch.arange(6)

    def decode(scores: torch.Tensor, state: object) -> torch.Tensor:  # type: ignore[name-defined]
        chosen = []
        for step in scores:
            tokens = processor(step, state).argmax(dim=1)
            chosen.append(tokens)
            state = processor.advance(state, tokens)
        return torch.stack(chosen, dim=1)

    scores = torch.randn(5, 6, len(TWO_ENDS), generator=torch.Generator().manual_seed(0))
    for budget in (None, 40):
        state = processor.start(rows, history=2, max_tokens=budget)
        compiled = torch.compile(decode, fullgraph=True, backend="aot_eager")
        assert torch.equal(decode(scores, state), compiled(scores, state))


def test_in_place() -> None:
    table = stack(TWO_ENDS, seed=4)
    processor, rng = TableProcessor(table), np.random.default_rng(0)
    rows = torch.arange(6)
    for budget in (None, 12):
        state = processor.start(rows, max_tokens=budget)
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            for extra in (0, 5):
                logits = torch.from_numpy(rng.normal(size=(6, len(TWO_ENDS) + extra))).to(dtype)
                wide = torch.zeros(6, 2 * logits.shape[1], dtype=dtype)[:, ::2]
                expected = processor(logits, state)
                assert processor.mask_(logits, state) is logits
                assert torch.equal(logits, expected)
                assert torch.equal(processor.mask_(wide, state).isfinite(), expected.isfinite())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch's own, where the compiler is first used
def test_one_graph_serves_all_constraints_and_states() -> None:
    processor = TableProcessor(stack(TWO_ENDS, seed=4))

    def step(logits: torch.Tensor, state: object, back: torch.Tensor) -> object:  # type: ignore[name-defined]
        state = processor.rollback(state, back)
        tokens = processor.mask_(logits, state).argmax(dim=1)
        return tokens, processor.advance(state, tokens)

    torch.compiler.reset()
    compiled = torch.compile(step, fullgraph=True, dynamic=False, backend="aot_eager")
    random = torch.Generator().manual_seed(0)
    first = True
    for rows in (torch.arange(6), torch.arange(6).flip(0), torch.zeros(6, dtype=torch.int64)):
        for budget in (15, 20):
            state = processor.start(rows, history=3, max_tokens=budget)
            again = state
            for count in range(8):
                back = (
                    torch.randint(0, 3, (6,), generator=random).clamp(max=min(count, 2)).minimum(state.history_length)
                )
                logits = torch.randn(6, len(TWO_ENDS), generator=random)
                tokens, state = step(logits.clone(), state, back)
                with torch._dynamo.config.patch(error_on_recompile=not first):
                    same, again = compiled(logits, again, back)
                first = False
                assert torch.equal(tokens, same)
                assert torch.equal(state.history, again.history)


@needs_gpu
@pytest.mark.parametrize("budget", [None, 14])
def test_a_cuda_graph_replays_as_the_reference(budget: int | None) -> None:
    """A step with mask, choice and advance, captured once: replays follow the reference, and nothing synchronises."""
    table = stack(TWO_ENDS, seed=4)
    rows, width, steps = torch.arange(6), len(TWO_ENDS), 12
    processor = TableProcessor(table).cuda()
    fixed = processor.start(rows.cuda(), history=2, max_tokens=budget)
    logits, chosen = torch.zeros(6, width, device="cuda"), torch.zeros(6, dtype=torch.int64, device="cuda")

    def step() -> None:
        tokens = processor.mask_(logits, fixed).argmax(dim=1)
        after = processor.advance(fixed, tokens)
        chosen.copy_(tokens)
        for held, new in zip(fixed, after, strict=True):
            if held is not None:
                held.copy_(new)

    before = [None if part is None else part.clone() for part in fixed]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # compiles the kernel before the capture
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for held, old in zip(fixed, before, strict=True):
        if held is not None:
            held.copy_(old)
    scores = torch.randn(steps, 6, width, generator=torch.Generator().manual_seed(0))
    on_device = scores.cuda()
    taken = torch.zeros(steps, 6, dtype=torch.int64, device="cuda")
    with without_synchronising():
        for place in range(steps):
            logits.copy_(on_device[place])
            graph.replay()
            taken[place].copy_(chosen)
    states, left = table.starts[rows.numpy()], None if budget is None else np.full(6, budget, np.int32)
    for place in range(steps):
        expected = reference.apply(table, scores[place].numpy(), states, left)
        tokens = expected.argmax(axis=1)
        going = np.isfinite(expected).any(axis=1)
        assert np.array_equal(tokens[going], taken[place].cpu().numpy()[going])
        states, left = reference.advance(table, states, tokens), None if left is None else left - 1


@needs_gpu
@pytest.mark.parametrize("budget", [None, 14])
def test_no_step_synchronises_on_cuda(budget: int | None) -> None:
    processor = TableProcessor(stack(TWO_ENDS, seed=4)).cuda()
    state = processor.start(torch.arange(6, device="cuda"), history=2, max_tokens=budget)
    logits = torch.randn(6, len(TWO_ENDS), device="cuda")
    back = torch.ones(6, dtype=torch.int64, device="cuda")
    processor.mask_(logits.clone(), state)  # compiles the kernel
    with without_synchronising():
        for _ in range(5):
            tokens = processor(logits, state).argmax(dim=1)
            processor.mask_(logits.clone(), state)
            state = processor.rollback(processor.advance(state, tokens), back)
            state = processor.advance(state, tokens)


@needs_gpu
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:The CUDA Graph is empty:UserWarning")
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("budget", [None, 14])
def test_compiled_for_cuda(mode: str, budget: int | None) -> None:
    """Inductor's kernels, and its CUDA graphs, write what the plain steps write; nothing is compiled again."""
    processor = TableProcessor(stack(TWO_ENDS, seed=4)).cuda()

    def step(logits: torch.Tensor, state: object) -> object:  # type: ignore[name-defined]
        tokens = processor.mask_(logits, state).argmax(dim=1)
        return tokens, processor.advance(state, tokens)

    torch._dynamo.reset()
    compiled = torch.compile(step, fullgraph=True, dynamic=False, mode=mode)
    random = torch.Generator().manual_seed(0)
    rows = torch.arange(6, device="cuda")
    for start in (rows, rows.flip(0)):
        expected = processor.start(start, history=2, max_tokens=budget)
        state = expected
        for _ in range(12):
            logits = torch.randn(6, len(TWO_ENDS), generator=random).cuda()
            tokens, expected = step(logits.clone(), expected)
            torch.compiler.cudagraph_mark_step_begin()
            same, state = compiled(logits.clone(), state)
            assert torch.equal(tokens, same)
            assert torch.equal(expected.history, state.history)
            state = type(state)(*(None if part is None else part.clone() for part in state))
    torch._dynamo.reset()


@needs_gpu
def test_an_unknown_constraint_on_a_gpu_refuses_its_row() -> None:
    """An index out of range would end the process's use of the GPU."""
    processor = TableProcessor(stack(TWO_ENDS, seed=4)).cuda()
    state = processor.start(torch.tensor([0, 6, -1, 5], device="cuda"))
    assert processor(torch.zeros(4, len(TWO_ENDS), device="cuda"), state).isfinite().any(dim=1).tolist() == [
        True,
        False,
        False,
        True,
    ]
    with pytest.raises(detent.ArgumentError, match="there is no number 6"):
        processor.start(torch.tensor([0, 6]))
    assert processor.start(torch.tensor([0, 5])).states.device.type == "cuda"


def test_half_precision_keeps_its_type() -> None:
    processor = TableProcessor(stack(TWO_ENDS, seed=4))
    for dtype in (torch.float16, torch.bfloat16):
        masked = processor(torch.zeros(6, len(TWO_ENDS), dtype=dtype), processor.start(torch.arange(6)))
        assert masked.dtype == dtype
        assert not masked.isnan().any()


def test_mistakes_are_said() -> None:
    with pytest.raises(detent.ArgumentError, match="needs a detent"):
        TableProcessor(detent.regex("a"))
    logits = TableLogitsProcessor(TableProcessor(stack(TWO_ENDS, seed=4)), 3)
    with pytest.raises(detent.ArgumentError, match="follow neither a prompt of 3"):
        logits(torch.zeros(1, 4, dtype=torch.int64), torch.zeros(1, 5))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "options", [{}, {"do_sample": True}, {"num_beams": 3}, {"num_return_sequences": 2, "num_beams": 2}], ids=str
)
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
def test_generate_with_the_static_cache(options: dict[str, object], device: str) -> None:
    pytest.importorskip("transformers")
    from tests.support import tiny_llama

    tokenizer, model = tiny_llama.tokenizer(), tiny_llama.model().to(device)
    vocabulary = detent.Vocabulary.from_transformers(tokenizer, size=tiny_llama.PADDED_WIDTH)
    languages = [detent.regex(r"\d{4}-\d\d-\d\d"), detent.regex("(yes|no)( maybe)*")]
    table = detent.stack_tables([detent.compile(language, vocabulary).to_table() for language in languages])
    inputs = tokenizer(["the answer is ", "abc"], return_tensors="pt", padding=True).to(device)
    length = inputs["input_ids"].shape[1]
    processor = TableProcessor(table).to(device)
    held = TableLogitsProcessor(processor, length, constraints=torch.tensor([0, 1]), max_tokens=13)
    torch.manual_seed(0)
    ids = model.generate(
        inputs["input_ids"],
        attention_mask=inputs["attention_mask"],
        logits_processor=[held],
        max_new_tokens=14,
        cache_implementation="static",
        disable_compile=True,
        **options,
    )
    texts = tokenizer.batch_decode(ids[:, length:], skip_special_tokens=True)
    each = len(texts) // 2
    for row, text in enumerate(texts):
        assert languages[row // each].accepts(text), (text, options)
