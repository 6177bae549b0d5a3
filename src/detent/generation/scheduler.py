"""Scheduler: the texts of one model that are written at the same time, and the thread that reads them together.

    advance each text until it needs logits  ->  read the sessions of all in one pass  ->  repeat

A new text joins at the next pass (continuous batching: Yu et al. 2022, Orca). A text whose step takes long holds nobody
up: one thread, the *lane*, advances the texts one after the other, and if it is stuck with a text, another
lane takes the rest. The stuck text comes back when its step is done, and has a thread of its own for its next one. The
threads end with the last text.
"""

from __future__ import annotations

import asyncio
import atexit
import math
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from time import perf_counter, thread_time
from typing import TypeAlias
from weakref import WeakKeyDictionary, WeakValueDictionary

from detent.errors import LimitError
from detent.generation.decode_loop import Stream
from detent.generation.output import Output
from detent.generation.prompt_cache import PromptCache
from detent.generation.report import Step
from detent.generation.turn_stream import TurnStream
from detent.models.base import BatchModel, Model
from detent.turns.events import Event

__all__ = ["Inbox", "Item", "StepsWritten", "Task", "submit"]

_MOST_TOGETHER = 64
"""The most texts that a model reads in one pass."""
_PATIENCE = 0.02
"""Seconds that the others wait for the step of a text: its masks, the choice of its token, and forced tokens."""

_SLOW_STEP = 0.1
"""Processor seconds from which on a step is slow; most take less than a millisecond."""

_lock = threading.Lock()
_schedulers: WeakKeyDictionary[Model, _Scheduler] = WeakKeyDictionary()
_mailboxes: WeakValueDictionary[asyncio.AbstractEventLoop, _Mailbox] = WeakValueDictionary()
"""The mailbox of each event loop, as long as one of its texts is written."""
_running: set[_Scheduler] = set()
"""The schedulers that have a thread."""


def _stop() -> None:
    """End all texts before the interpreter does: to stop a thread inside a model's C++ code aborts the process."""
    for scheduler in list(_running):
        scheduler.stop()


def _forget() -> None:
    """Forget the schedulers in a forked process, which has none of their threads."""
    global _lock
    _lock = threading.Lock()
    _schedulers.clear()
    _mailboxes.clear()
    _running.clear()


atexit.register(_stop)
os.register_at_fork(after_in_child=_forget)


@dataclass(frozen=True)
class StepsWritten:
    """Steps of tokens that are never taken back; they come before the piece that they complete."""

    steps: tuple[Step, ...]


Item: TypeAlias = str | Event | Output | StepsWritten
Received: TypeAlias = Item | BaseException


class Inbox:
    """The pieces of a text that its reader has not taken yet. An inbox belongs to one event loop.

    Attributes
    ----------
    output : Output or None
        The output, once it is here.
    """

    def __init__(self) -> None:
        self.output: Output | None = None
        self._items: list[Item] = []
        self._error: BaseException | None = None
        self._has_more = asyncio.Event()
        self._has_all = asyncio.Event()

    def put(self, items: Sequence[Received]) -> None:
        """Add items; the last ones end with the output or an error."""
        last = items[-1]
        if isinstance(last, Output):
            self.output = last
        if isinstance(last, BaseException):
            self._error = last
        self._items += [item for item in items if not isinstance(item, BaseException)]
        self._has_more.set()
        if isinstance(last, (Output, BaseException)):
            self._has_all.set()

    async def take(self) -> list[Item]:
        """Wait for items, and return all since the last call; raise the error of the text if there are none left."""
        while not self._items:
            if self._error is not None:
                raise self._error
            self._has_more.clear()
            await self._has_more.wait()
        items, self._items = self._items, []
        return items

    async def wait_for_all(self) -> None:
        """Wait for the output or an error, whether or not the items before it are taken."""
        await self._has_all.wait()


class _Mailbox:
    """Items that other threads hand to an event loop; one wake-up delivers those of all texts and passes so far."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._letters: deque[tuple[Task, list[Received]]] = deque()
        self._is_woken = False

    def add(self, task: Task, items: list[Received]) -> None:
        """Add items of a text; `wake` hands them over."""
        self._letters.append((task, items))

    def wake(self) -> None:
        """Wake the event loop, if it has items to take and was not woken yet."""
        if not self._letters or self._is_woken:
            return
        self._is_woken = True
        try:
            self._loop.call_soon_threadsafe(self._hand_over)
        except RuntimeError:  # the event loop is closed
            self._is_woken = False
            while self._letters:
                self._letters.popleft()[0].is_cancelled = True

    def _hand_over(self) -> None:
        self._is_woken = False  # before the letters are taken: a letter that comes later wakes again
        while self._letters:
            task, items = self._letters.popleft()
            task.inbox.put(items)


class Task:
    """A text of one event loop: its items go to the loop in lists, the last of which ends with the output or an error.

    Parameters
    ----------
    model : Model
        What writes.
    open_stream : callable
        Returns the stream of what is written; the thread that writes calls it.
    has_steps : bool
        Whether the steps of tokens are sent too.
    is_whole : bool
        Whether all items are sent at the end, in one list.
    inbox : Inbox, optional
        Where the items go.
    most_slow_seconds : float
        Processor seconds that the slow steps of the text may take together, those of over 0.1 s; after more, a
        `LimitError` ends the text.

    Attributes
    ----------
    is_cancelled : bool
        Set it to stop the text at its next step.
    """

    def __init__(
        self,
        model: Model,
        open_stream: Callable[[], Stream | TurnStream],
        *,
        has_steps: bool = False,
        is_whole: bool = False,
        inbox: Inbox | None = None,
        most_slow_seconds: float = math.inf,
    ) -> None:
        self.inbox = inbox or Inbox()
        self.model = model
        self._open_stream = open_stream
        self._stream: Stream | TurnStream | None = None
        self._steps_sent: int | None = 0 if has_steps else None
        self._is_whole = is_whole
        self.is_cancelled = False
        self.is_read = False
        self.is_over = False
        self.is_slow = False
        self.number = 0
        self.mailbox = _mailbox(asyncio.get_running_loop())
        self._written: list[Received] = []
        self._most_slow_seconds = most_slow_seconds
        self._slow_seconds = 0.0

    @property
    def stream(self) -> Stream | TurnStream:
        """The stream that writes the text; opened when it is first used."""
        if self._stream is None:
            self._stream = self._open_stream()
        return self._stream

    def advance(self) -> None:
        """Write the text up to its next pass."""
        began, used = perf_counter(), thread_time()
        try:
            if self.is_cancelled:
                if self._stream is not None:
                    self._stream.close()
                self.is_over = True
                return
            for piece in self.stream.until_pass():
                self._note_steps()
                self._written.append(piece)
            if self.stream.is_finished:
                self._note_steps()
                self._written.append(self.stream.output)
            self.is_over = self.stream.is_finished
            self._spend(thread_time() - used)
        except Exception as error:  # it belongs to this text alone
            self._end_with(error)
        if self._written and (self.is_over or not self._is_whole):
            self._send()
        self.is_slow = perf_counter() - began > _PATIENCE

    def fail(self, error: Exception) -> None:
        """End the text with an error."""
        self._end_with(error)
        self._send()
        self.mailbox.wake()

    def _spend(self, seconds: float) -> None:
        """Count the seconds of a slow step, and end a text that has too many: no limit of one step bounds their sum."""
        if self.is_over or seconds < _SLOW_STEP:
            return
        self._slow_seconds += seconds
        if self._slow_seconds > self._most_slow_seconds:
            self.stream.close()
            raise LimitError(
                f"the steps of this text have taken {self._slow_seconds:.1f} s of processor time, above the limit of "
                f"{self._most_slow_seconds:g} s for steps of over {_SLOW_STEP:g} s each; its rule has masks that are "
                "too large: simplify the rule",
                subject="step_seconds",
                limit=int(self._most_slow_seconds),
                given=int(self._slow_seconds),
            )

    def _end_with(self, error: Exception) -> None:
        self.is_over = True
        if self._is_whole:
            self._written.clear()
        self._written.append(error)

    def _note_steps(self) -> None:
        if self._steps_sent is not None and (steps := self.stream.committed_steps(self._steps_sent)):
            self._steps_sent += len(steps)
            self._written.append(StepsWritten(tuple(steps)))

    def _send(self) -> None:
        written, self._written = self._written, []
        self.mailbox.add(self, written)


def _mailbox(loop: asyncio.AbstractEventLoop) -> _Mailbox:
    with _lock:
        return _mailboxes.get(loop) or _mailboxes.setdefault(loop, _Mailbox(loop))


def submit(task: Task) -> None:
    """Start a text of a model."""
    try:
        with _lock:
            scheduler = _schedulers.get(task.model) or _schedulers.setdefault(task.model, _Scheduler(task.model))
    except TypeError:  # a model without hash or weak references is never read together
        scheduler = _Scheduler(task.model)
    scheduler.submit(task)


class _Scheduler:
    """The texts of one model."""

    def __init__(self, model: Model) -> None:
        self._reader = _Reader() if isinstance(model, BatchModel) else None
        self._changed = threading.Condition()
        self._waiting: deque[Task] = deque()
        self._to_advance: deque[Task] = deque()
        self._advanced: deque[Task] = deque()
        self._last_advance = 0.0
        self._count = 0
        self._thread: threading.Thread | None = None
        self._is_stopped = False

    def submit(self, task: Task) -> None:
        """Add a text; start the thread if there is none."""
        with self._changed:
            self._count += 1
            task.number = self._count
            self._waiting.append(task)
            self._changed.notify()
            if self._thread is None:
                run = self._run_alone if self._reader is None else self._run_together
                self._thread = threading.Thread(target=run, name="detent-scheduler", daemon=True)
                self._thread.start()
                _running.add(self)

    def stop(self) -> None:
        """End all texts; wait for the steps and the pass of the model that are under way."""
        with self._changed:
            self._is_stopped, thread = True, self._thread
            self._changed.notify()
        if thread is not None:
            thread.join()

    def _ends(self, texts: int) -> bool:
        """Return whether the thread ends: no text is left, or the interpreter ends. The caller has the lock."""
        if texts and not self._is_stopped:
            return False
        self._thread = None
        _running.discard(self)
        return True

    def _run_alone(self) -> None:
        """Advance texts of a model that reads one session at a time; each step reads its session."""
        active: list[Task] = []
        while True:
            with self._changed:
                while self._waiting and len(active) < _MOST_TOGETHER:
                    active.append(self._waiting.popleft())
                if self._ends(len(active)):
                    return
            for task in active:
                task.advance()
                task.mailbox.wake()
            active = [task for task in active if not task.is_over]

    def _run_together(self) -> None:
        assert self._reader is not None  # noqa: S101 - submit asked
        active: list[Task] = []
        away = 0  # texts that are being advanced
        with ThreadPoolExecutor(_MOST_TOGETHER + 1, thread_name_prefix="detent-text") as threads:
            while True:
                with self._changed:
                    while away and not (active or self._waiting or self._advanced or self._is_stopped):
                        self._changed.wait()
                    while self._waiting and len(active) + away < _MOST_TOGETHER:
                        active.append(self._waiting.popleft())
                    if self._ends(len(active) + away):
                        return
                away += len(active)
                self._advance(active, threads)
                returned = [self._advanced.popleft() for _ in range(len(self._advanced))]
                away -= len(returned)
                for mailbox in {task.mailbox for task in returned}:
                    mailbox.wake()
                ready = [task for task in returned if not task.is_over]
                ready.sort(key=lambda task: task.number)  # a stable order keeps the rows of the model's caches
                active = self._reader.read(ready)

    def _advance(self, tasks: list[Task], threads: ThreadPoolExecutor) -> None:
        """Advance texts, and return when all but the slow ones are advanced."""
        for task in tasks:
            if task.is_slow:
                self._start_lane(deque([task]), threads)
            else:
                self._to_advance.append(task)
        if not self._to_advance:
            return
        self._last_advance = perf_counter()
        lane = self._start_lane(self._to_advance, threads)
        while True:
            if lane is None or wait([lane], _PATIENCE).done:
                return
            if perf_counter() - self._last_advance > _PATIENCE:
                if not self._to_advance:
                    return
                self._last_advance = perf_counter()
                lane = self._start_lane(self._to_advance, threads)

    def _start_lane(self, tasks: deque[Task], threads: ThreadPoolExecutor) -> Future[None] | None:
        """Start a lane; while the interpreter ends, which allows no new work, advance the texts here."""
        try:
            return threads.submit(self._lane, tasks)
        except RuntimeError:
            self._lane(tasks)
            return None

    def _lane(self, tasks: deque[Task]) -> None:
        """Advance the texts of a queue, of which other lanes may take too."""
        while tasks:
            try:
                task = tasks.popleft()
            except IndexError:  # another lane took the last one
                return
            task.advance()
            self._last_advance = perf_counter()
            self._advanced.append(task)
        with self._changed:
            self._changed.notify()


class _Reader:
    """Reads the sessions of several texts, and each prompt once."""

    def __init__(self) -> None:
        self._prompts = PromptCache()

    def read(self, tasks: list[Task]) -> list[Task]:
        """Read the sessions of several texts in one pass; return the texts, or none if that failed for all."""
        try:
            new = [task for task in tasks if not task.stream.logits_cache.has_session]
            for task in new:
                self._prompts.open(task.stream.logits_cache)
            firsts = {tuple(task.stream.logits_cache.prompt_ids): task for task in reversed(new)}
            if len(firsts) == len(new):
                self._pass(tasks)
                return tasks
            self._pass(list(firsts.values()))  # a prompt of several new texts is read once
            others = [task for task in tasks if task not in firsts.values()]
            for task in others:
                if not task.stream.logits_cache.has_session:
                    self._prompts.open(task.stream.logits_cache)
            self._pass(others)
        except Exception as error:
            for task in tasks:
                task.fail(error)
            return []
        return tasks

    def _pass(self, tasks: list[Task]) -> None:
        if not tasks:
            return
        model = tasks[0].model
        assert isinstance(model, BatchModel)  # noqa: S101 - otherwise there is no reader
        sessions = [task.stream.session() for task in tasks]
        began = perf_counter()
        model.read(sessions)
        seconds = perf_counter() - began
        for task in tasks:
            task.stream.logits_cache.record_pass(seconds)
            if not task.is_read:
                task.is_read = True
                self._prompts.keep(task.stream.logits_cache)
