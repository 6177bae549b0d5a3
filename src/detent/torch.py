"""Tables in PyTorch: masking, stepping and taking back as pure tensor operations, without a word from the host.

    processor = TableProcessor(table).to(device)
    state = processor.start(rows)                    # which constraint of the table each row is held to
    logits = processor(logits, state)                # -inf where the row's state does not allow the token
    state = processor.advance(state, tokens)         # the tokens that were chosen
    state = processor.rollback(state, steps)         # back, as far as the history reaches

Shapes never change and nothing depends on values: a loop around these compiles into one graph (`torch.compile` with
`fullgraph=True`) and can be captured as a CUDA graph. Nothing can be raised on a device, so wrong input leads to state
0, which allows nothing. Wrong are a token that the state does not allow, an id outside the vocabulary, and a rollback
beyond the history. `detent.tables.reference` has the same steps in NumPy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

try:
    import torch
    from torch.nn.functional import pad
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("detent.torch needs PyTorch: pip install 'detent[torch]'", name=error.name) from error

from detent.errors import ArgumentError
from detent.mask import apply_mask
from detent.tables import TokenDfa
from detent.tables.minimize import FINISHED, REFUSED

__all__ = ["TableLogitsProcessor", "TableProcessor", "TableState"]


class TableState(NamedTuple):
    """The states of the rows of a batch: tensors of fixed shapes, on one device.

    Attributes
    ----------
    history : int32[batch, H + 1]
        A ring of the last states.
    steps : int64[batch]
        Tokens taken since the start: the present state is ``history[row, steps % (H + 1)]``.
    history_length : int64[batch]
        How many of them can be taken back: H at most.
    budget : int32[batch] or None
        Tokens that a text may take, without end-of-text.
    """

    history: torch.Tensor
    steps: torch.Tensor
    history_length: torch.Tensor
    budget: torch.Tensor | None

    @property
    def states(self) -> torch.Tensor:
        """The present states, int64[batch]."""
        slot = self.steps % self.history.shape[1]
        return self.history.gather(1, slot[:, None])[:, 0].long()


class TableProcessor(torch.nn.Module):
    """A `TokenDfa` as a module: its arrays are buffers, which `.to(device)` moves.

    >>> import detent, torch
    >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    >>> table = detent.stack_tables([detent.compile(detent.regex(p), vocabulary).to_table() for p in ("ab", "b*")])
    >>> processor = TableProcessor(table)
    >>> state = processor.start(torch.tensor([0, 1]))
    >>> processor(torch.zeros(2, 3), state)
    tensor([[0., -inf, -inf],
            [-inf, 0., 0.]])
    >>> state = processor.advance(state, torch.tensor([0, 2]))
    >>> processor(torch.zeros(2, 3), state)
    tensor([[-inf, 0., -inf],
            [-inf, -inf, 0.]])

    Parameters
    ----------
    table : TokenDfa
        One constraint, or several from `detent.stack_tables`.
    """

    next: torch.Tensor
    token_class: torch.Tensor
    masks: torch.Tensor
    mask_row: torch.Tensor
    distance: torch.Tensor
    starts: torch.Tensor
    _bits: torch.Tensor
    _width: int  # one more than the last id that some state allows

    def __init__(self, table: TokenDfa) -> None:
        super().__init__()
        if not isinstance(table, TokenDfa):
            raise ArgumentError(
                f"TableProcessor needs a detent.TokenDfa (guide.to_table()), got {type(table).__name__}"
            )
        for name in ("next", "token_class", "masks", "mask_row", "distance", "starts"):
            self.register_buffer(name, torch.tensor(getattr(table, name)), persistent=False)
        allowed = np.unpackbits(np.bitwise_or.reduce(table.masks, axis=0).view(np.uint8), bitorder="little")
        self._width = int(np.flatnonzero(allowed).max(initial=-1)) + 1
        self.register_buffer("_bits", torch.arange(32, dtype=torch.int32), persistent=False)

    def start(
        self, constraints: torch.Tensor | int, *, history: int = 0, max_tokens: torch.Tensor | int | None = None
    ) -> TableState:
        """Return the state before the first token.

        Parameters
        ----------
        constraints : int64[batch] or int
            Which constraint of the table each row is held to; or a number of rows that are all held to the first. An
            index that the table does not have is an `ArgumentError` on the CPU; elsewhere it refuses the row.
        history : int
            How many steps can be taken back.
        max_tokens : int32[batch] or int, optional
            The text of each row has at most this many tokens, end-of-text not counted. Where no text is that short, the
            row begins in the state that allows nothing; `TokenDfa.matcher` raises `LimitError` instead.
        """
        if isinstance(constraints, int):
            constraints = torch.zeros(constraints, dtype=torch.int64, device=self.starts.device)
        if constraints.device.type == "cpu" and not torch.compiler.is_compiling():
            wrong = constraints[(constraints < 0) | (constraints >= len(self.starts))].tolist()
            if wrong:
                raise ArgumentError(f"the table holds {len(self.starts)} constraints; there is no number {wrong[0]}")
        constraints = constraints.to(self.starts.device)
        last = len(self.starts) - 1
        known = (constraints >= 0) & (constraints <= last)
        states = torch.where(known, self.starts[constraints.clamp(0, last)], REFUSED)
        ring = torch.zeros(len(states), history + 1, dtype=torch.int32, device=states.device)
        none = torch.zeros(len(states), dtype=torch.int64, device=states.device)
        budget = None
        if max_tokens is not None:
            budget = torch.as_tensor(max_tokens, dtype=torch.int32, device=states.device).expand(len(states)).clone()
            states = torch.where(self.distance[states.long()] <= budget, states, REFUSED)
        ring[:, 0] = states
        return TableState(ring, none, none.clone(), budget)

    def forward(self, logits: torch.Tensor, state: TableState) -> torch.Tensor:
        """Return logits[batch, L] with -inf where a row's state does not allow the token, and past the vocabulary."""
        self._check_width(logits)
        return torch.where(self._allowed(state, logits.shape[1]), logits, float("-inf"))

    def mask_(self, logits: torch.Tensor, state: TableState) -> torch.Tensor:
        """Do the same as `forward`, but in place, which halves the memory traffic.

        On CUDA one Triton kernel gathers the rows and writes -inf; on the CPU, without a budget, the core does the
        same; inside `torch.compile` it is what the compiler makes of it.

        >>> import detent, torch
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
        >>> processor = TableProcessor(detent.compile(detent.regex("ab"), vocabulary).to_table())
        >>> processor.mask_(torch.zeros(1, 3), processor.start(1))
        tensor([[0., -inf, -inf]])

        Parameters
        ----------
        logits : float32, float16 or bfloat16 [batch, L]
            On CUDA, the last axis must be contiguous.
        """
        self._check_width(logits)
        if logits.device.type != "cuda" or torch.compiler.is_compiling():
            if self._is_for_core(logits, state):
                apply_mask(logits, self.masks[self.mask_row[state.states].long()])
                return logits
            return logits.masked_fill_(~self._allowed(state, logits.shape[1]), float("-inf"))
        from detent.integrations.cuda import mask_by_table

        left = None if state.budget is None else (state.budget - state.steps).int()
        mask_by_table(logits, state.states.int(), left, self)
        return logits

    def advance(self, state: TableState, tokens: torch.Tensor) -> TableState:
        """Return the state after one token a row, int64[batch]. After end-of-text, any id is padding."""
        width = len(self.token_class)
        part = torch.where((tokens >= 0) & (tokens < width), self.token_class[tokens.clamp(0, width - 1)], 0)
        before = state.states
        after = torch.where(before == FINISHED, FINISHED, self.next[before, part.long()])
        if state.budget is not None:
            in_time = self.distance[after.long()] < state.budget - state.steps
            after = torch.where(in_time | (before == FINISHED), after, REFUSED)
        return self._moved(state, state.steps + 1, state.history_length + 1, after)

    def rollback(self, state: TableState, steps: torch.Tensor) -> TableState:
        """Return the state `steps` (int64[batch]) tokens ago; a row that goes back beyond the history is refused."""
        known = (steps >= 0) & (steps <= state.history_length)
        steps = torch.where(known, steps, 0)
        moved = state._replace(steps=state.steps - steps, history_length=state.history_length - steps)
        return self._moved(moved, moved.steps, moved.history_length, torch.where(known, moved.states.int(), REFUSED))

    def _check_width(self, logits: torch.Tensor) -> None:
        if logits.shape[1] < self._width:
            raise ArgumentError(
                f"the logits have {logits.shape[1]} ids, but the table allows id {self._width - 1}: they are another "
                "model's; make the table with the vocabulary of the model"
            )

    def _allowed(self, state: TableState, width: int) -> torch.Tensor:
        """Return bool[batch, width]: which tokens each row's state and budget allow."""
        states = state.states
        rows = self.masks[self.mask_row[states].long()]
        allowed = ((rows[:, :, None] >> self._bits) & 1).flatten(1).bool()
        if state.budget is not None:
            after = self.next[states].long()
            left = state.budget - state.steps
            in_time = (self.distance[after] < left[:, None]) | (states == FINISHED)[:, None]
            spread = in_time[:, self.token_class.long()]
            allowed = allowed[:, : spread.shape[1]] & spread
        return pad(allowed[:, :width], (0, max(width - allowed.shape[1], 0)))

    def _is_for_core(self, logits: torch.Tensor, state: TableState) -> bool:
        plain = not torch.compiler.is_compiling() and logits.device.type == "cpu" and not logits.requires_grad
        known = logits.dtype in (torch.float32, torch.float16, torch.bfloat16)
        return plain and known and state.budget is None and logits.stride(1) == 1

    def _moved(
        self, state: TableState, steps: torch.Tensor, history_length: torch.Tensor, states: torch.Tensor
    ) -> TableState:
        size = state.history.shape[1]
        ring = state.history.scatter(1, (steps % size)[:, None], states.int()[:, None])
        return TableState(ring, steps, history_length.clamp(max=size - 1), state.budget)


class TableLogitsProcessor:
    """Holds the rows of transformers' `generate` to a table, on the device of the scores, without synchronising.

    For greedy search, sampling and beams. A row whose text continues none that was shown before is refused. For
    assisted generation, use `detent.integrations.transformers.LogitsProcessor`.

    Parameters
    ----------
    processor : TableProcessor
        On the device of the model.
    prompt_length : int
        How many leading ids of a row are the prompt: ``inputs["input_ids"].shape[1]``. Rows of that length begin anew.
    constraints : int64[prompts], optional
        Which constraint of the table each prompt's rows are held to; the first by default.
    max_tokens : int, optional
        See `TableProcessor.start`; `max_new_tokens` less one, which end-of-text takes.
    """

    supports_continuous_batching = False

    def __init__(
        self,
        processor: TableProcessor,
        prompt_length: int,
        *,
        constraints: torch.Tensor | None = None,
        max_tokens: int | None = None,
    ) -> None:
        self._processor = processor
        self._prompt_length = prompt_length
        first = torch.zeros(1, dtype=torch.int64, device=processor.starts.device)
        self._constraints = self._each = first if constraints is None else constraints.to(first.device)
        self._max_tokens = max_tokens
        self._last: tuple[torch.Tensor, TableState] | None = None

    def __call__(self, input_ids: torch.LongTensor, scores: torch.Tensor) -> torch.Tensor:
        """Return a copy of scores[rows, V] with -inf where the table does not allow the token."""
        length = input_ids.shape[1]
        if length == self._prompt_length:
            state = self._start(len(scores))
        elif self._last is not None and self._last[0].shape == (len(scores), length - 1):
            state = self._follow(*self._last, input_ids)
        else:
            raise ArgumentError(
                f"ids [{len(scores)}, {length}] follow neither a prompt of {self._prompt_length} "
                "nor the last call's ids"
            )
        self._last = input_ids, state
        return self._processor.mask_(scores.clone(memory_format=torch.contiguous_format), state)

    def _start(self, rows: int) -> TableState:
        if rows % len(self._constraints):
            raise ArgumentError(f"{len(self._constraints)} constraints do not divide {rows} rows; give one a prompt")
        self._each = self._constraints.repeat_interleave(rows // len(self._constraints))
        return self._processor.start(self._each, max_tokens=self._max_tokens)

    def _follow(self, before: torch.Tensor, state: TableState, ids: torch.Tensor) -> TableState:
        """Take one token more. Beams permute rows: each goes on from one with its constraint and its text so far."""
        old, new = before[:, self._prompt_length :], ids[:, self._prompt_length : -1]
        same = (new[:, None] == old[None]).all(dim=2) & (self._each[:, None] == self._each[None])
        parent = same.int().argmax(dim=1)
        history = torch.where(same.any(dim=1)[:, None], state.history[parent], REFUSED)
        budget = None if state.budget is None else state.budget[parent]
        found = TableState(history, state.steps[parent], state.history_length[parent], budget)
        return self._processor.advance(found, ids[:, -1])
