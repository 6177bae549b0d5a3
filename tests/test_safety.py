"""What a shared server relies on: small stacks, limits, cancellation, threads, forks, bounded memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import mean

import pytest

import detent
from detent import _core
from tests.support.mask_walk import EOS, VOCABULARY, masks_of, new_vocabulary
from tests.support.python_process import run_python
from tests.support.small_stack import in_a_small_stack

# --- Small stacks

_DEEP = {
    "groups": "(" * 200 + "a" + ")" * 200,
    "too many groups": "(" * 100_000 + "a" + ")" * 100_000,
    "stars": "(?:" * 200 + "a" + ")*" * 200,
    "lookaheads": "(?=" * 100 + "a" + ")" * 100 + "a",
    "lookbehinds": "a" + "(?<=" * 100 + "a" + ")" * 100,
    "negations": "(?!" * 100 + "a" + ")" * 100 + "b?",
    "alternations": "".join(f"({letter}|" for letter in "abcdefgh" * 20) + "z" + ")" * 160,
    "optional letters": "a?" * 2_000 + "a" * 2_000,
    "a long text": "abcdefghij" * 10_000,
    "many words": "|".join(f"w{number}" for number in range(10_000)),
    "many assertions": r"\ba" * 2_000,
    "a large count": "(?:ab|a){1000000}",
    "nested counts": "(?:(?:(?:a{1000}){1000}){1000}){1000}",
}


@pytest.mark.parametrize("name", _DEEP)
def test_deep_patterns_on_a_small_stack(name: str) -> None:
    def work() -> list[bytes] | detent.DetentError:
        try:
            return masks_of(detent.compile(detent.regex(_DEEP[name]), VOCABULARY), seed=0, steps=5)
        except detent.DetentError as error:
            return error

    outcome = in_a_small_stack(work)
    if name.startswith("too many"):
        assert isinstance(outcome, detent.LimitError)
    else:
        assert outcome


_B = _core.literal(b"b")
_NESTINGS: dict[str, Callable[[_core.Node], _core.Node]] = {
    "concat": lambda node: _core.concat([_B, node, _B]),
    "union": lambda node: _core.union([node, _core.concat([_B, node])]),
    "complement": lambda node: _core.concat([_B, _core.complement(node)]),
    "repeat": lambda node: _core.repeat(_core.concat([_B, node]), 1, 2),
    "intersection": lambda node: _core.intersection([_core.concat([node, _B]), _core.repeat(node, 0, None)]),
    "lookahead": lambda node: _core.concat([_core.lookahead(node, True), _B]),
    "text_scope": lambda node: _core.text_scope(_core.concat([_B, node])),
}


@pytest.mark.parametrize("name", _NESTINGS)
def test_deep_languages_on_a_small_stack(name: str) -> None:
    """Built without the front end: made, compared, hashed, compiled and freed, or refused."""

    def nest() -> _core.Node:
        node = _core.literal(b"a")
        for _ in range(50_000):
            node = _NESTINGS[name](node)
        return _core.text_scope(node)

    def work() -> None:
        try:
            node = nest()
            assert node == nest()
            assert isinstance(hash(node), int)
            limits = detent.Limits(work=2_000_000)
            detent.compile(detent.Language(node, name), VOCABULARY, limits=limits).matcher().allowed()
        except detent.DetentError:
            return

    in_a_small_stack(work)


# --- Limits

_HARD = "[ab]*a[ab]{17}"  # two to the 17th states
_HARD_BY_PARITY = "([ab][ab])*a[ab]{17}|[ab]([ab][ab])*a[ab]{17}"  # the same texts


def test_a_limit_is_an_error_and_never_a_verdict() -> None:
    """What a limit stopped is not remembered: not as a dead end, not as a mask."""
    language = detent.regex("(?:ab|ba)*" + "1?" * 60)
    guide = detent.compile(language, VOCABULARY, limits=detent.Limits(states=30))
    matcher = guide.matcher()
    for _ in range(10):
        matcher.advance_bytes(b"1")
    with pytest.raises(detent.LimitError, match="30") as raised:
        matcher.advance_bytes(b"1" * 40)
    assert "states" in str(raised.value)
    assert len(matcher) == 10
    assert matcher.is_accepting
    for _ in range(50):  # a step of one byte has room, since states are evicted between steps
        matcher.advance_bytes(b"1")
    assert matcher.allowed().tolist() == [EOS]
    free = detent.compile(language, VOCABULARY).matcher()
    for _ in range(60):
        free.advance_bytes(b"1")
    assert free.allowed().tolist() == [EOS]


@pytest.mark.parametrize("limits", [{"states": 10}, {"memory_bytes": 20_000}, {"work": 5_000}])
def test_emptiness_is_searched_within_the_limits(limits: dict[str, int]) -> None:
    language = detent.regex(_HARD) - detent.regex(_HARD_BY_PARITY)
    with pytest.raises(detent.LimitError, match=next(iter(limits))):
        detent.compile(language, VOCABULARY, limits=detent.Limits(**limits))


@pytest.mark.parametrize(
    ("pattern", "limits"),
    [
        ("a" * 2000, {"source_bytes": 1000}),
        ("(((a)))", {"depth": 2}),
        ("a[bc]d.", {"pattern_size": 3}),
        ("x" * 2_000_000, {}),
        ("(" * 300 + ")" * 300, {}),
        ("a{9999999999}", {}),
    ],
)
def test_sources_are_limited(pattern: str, limits: dict[str, int]) -> None:
    with pytest.raises(detent.LimitError):
        detent.regex(pattern, limits=detent.Limits(**limits))


@pytest.mark.parametrize("pattern", ["(" + "a" * 5_000, "[" * 5_000, r"(a)\1" + "é" * 5_000, "a" * 5_000 + "[^\\s\\S]"])
def test_messages_are_short(pattern: str) -> None:
    with pytest.raises(detent.DetentError) as raised:
        detent.compile(detent.regex(pattern), VOCABULARY)
    assert len(str(raised.value).encode()) <= 512


_FAMILIES: dict[str, Callable[[int], str]] = {
    "letters": lambda n: "a" * n,
    "words": lambda n: "|".join(f"w{number}x" for number in range(n)),
    "optional": lambda n: "a?" * n + "a" * n,
    "count": lambda n: f"[ab]{{{n}}}",
    "counted group": lambda n: f"(?:ab|ba){{{n}}}",
    "range": lambda n: f"(?:a|ab){{1,{n}}}",
    "classes": lambda n: "".join(f"[a-{chr(98 + number % 20)}]" for number in range(n)),
    "stars": lambda n: "".join(f"{chr(97 + number % 26)}*" for number in range(n)),
    "nested": lambda n: "(?:a" * n + "b" + ")?" * n,
    "boundaries": lambda n: r"(?:\ba\b ?)" * n,
}


@pytest.mark.parametrize("family", _FAMILIES)
def test_what_a_pattern_costs_grows_with_its_length(family: str) -> None:
    """Twice the length: at most 2.5 times the states and bytes, compiled and walked, in the mean of some walks."""

    def cost(n: int) -> tuple[float, float]:
        guides = [detent.compile(detent.regex(_FAMILIES[family](n)), VOCABULARY) for _ in range(5)]
        for seed, guide in enumerate(guides):
            masks_of(guide, seed=seed, steps=60)
        return mean(guide.state_count for guide in guides), mean(guide.memory_bytes for guide in guides)

    for small, large in zip(cost(100), cost(200), strict=True):
        assert large <= 2.5 * small + 500


# --- CancellationToken


def test_cancelling_from_another_thread() -> None:
    language = detent.regex("[ab]*a[ab]{22}") - detent.regex("([ab][ab])*a[ab]{22}|[ab]([ab][ab])*a[ab]{22}")
    limits = detent.Limits(states=1 << 40, memory_bytes=8 << 30, work=1 << 50)
    stop = detent.CancellationToken()
    raised: list[BaseException] = []

    def work() -> None:
        try:
            detent.compile(language, VOCABULARY, limits=limits, cancel=stop)
        except detent.DetentError as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    stop.cancel()
    thread.join(30)
    assert not thread.is_alive()
    assert isinstance(raised[0], detent.CancelledError)
    # The same work, cancelled before it begins.
    with pytest.raises(detent.CancelledError):
        detent.compile(language, VOCABULARY, limits=limits, cancel=stop)


@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("seconds", [None, 0.05])
def test_cancelling_while_first_masks_are_tried(canonical: bool, seconds: float | None) -> None:
    """Of this rule all time goes into masks, each of which is many short calls of the core."""
    vocabulary = detent.load_model().vocabulary
    language = detent.regex("(?=.*a.{125})(?=.*b.{125})(?=.*c.{124}).*d.{140}")
    stop = detent.CancellationToken()
    timer = threading.Timer(seconds or 0, stop.cancel)
    timer.start()
    if seconds is None:
        timer.join()
    with pytest.raises(detent.CancelledError):
        detent.compile(language, vocabulary, canonical=canonical, cancel=stop)
    timer.join()


@pytest.mark.parametrize("canonical", [False, True])
def test_a_flag_cancels_compiling_alone(canonical: bool) -> None:
    vocabulary = detent.load_model().vocabulary
    stop = detent.CancellationToken()
    guide = detent.compile(detent.regex("[a-z]{3} [0-9]{3}"), vocabulary, canonical=canonical, cancel=stop)
    stop.cancel()
    matcher = guide.matcher()
    while not matcher.is_finished:
        matcher.advance(matcher.allowed()[-1])
    with pytest.raises(detent.CancelledError):
        detent.compile(detent.regex("a"), vocabulary, canonical=canonical, cancel=stop)


# --- Threads

_PATTERNS = [r"[^a]{0,300}ab?", r"(?:\w+ ){1,50}\w+", r"(?:ab|ba)*1{2,40}", r"é*(?=a).{0,80}", "[ab]*a[ab]{5}"]


@pytest.mark.parametrize("pattern", _PATTERNS)
def test_sixteen_threads_share_a_guide(pattern: str) -> None:
    """Sixteen matchers at once, on a guide and a cache that nobody has visited, see what each sees alone."""
    walks = range(16)
    alone = detent.compile(detent.regex(pattern), new_vocabulary())
    expected = [masks_of(alone, seed) for seed in walks]
    for _ in range(3):
        shared = detent.compile(detent.regex(pattern), new_vocabulary())
        barrier = threading.Barrier(16)

        def work(seed: int, shared: detent.Guide = shared, barrier: threading.Barrier = barrier) -> list[bytes]:
            barrier.wait()
            return masks_of(shared, seed)

        with ThreadPoolExecutor(16) as pool:
            assert list(pool.map(work, walks)) == expected


def test_two_threads_on_one_matcher_are_refused_or_in_turn() -> None:
    matcher = detent.compile(detent.regex("[ab]*"), VOCABULARY).matcher()
    taken: list[int] = []

    def work() -> None:
        for _ in range(2_000):
            try:
                matcher.advance(ord("a"))
            except detent.BusyError:
                continue
            taken.append(1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert matcher.token_ids == [ord("a")] * len(taken)


# --- Processes

_COMPILING = """
    import itertools, os, sys, threading
    import detent

    tokens = [bytes([byte]) for byte in range(256)]
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[256])
    numbers = itertools.count()
    stop = threading.Event()

    def check(pattern):
        matcher = detent.compile(detent.regex(pattern), vocabulary).matcher()
        return [len(matcher.allowed()), matcher.advance_bytes(b"a"), len(matcher.allowed())]

    def work():
        while not stop.is_set():
            check(f"a(?:[^b]{{0,40}}|x{next(numbers)}[ab]*a[ab]{{3}})")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_while_threads_compile() -> None:
    """The child never waits for a lock that a thread of the parent held."""
    out = run_python(
        _COMPILING
        + """
    shared = detent.compile(detent.regex("a[ab]*a[ab]{9}"), vocabulary)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    failed = 0
    for number in range(40):
        child = os.fork()
        if child == 0:
            try:
                matcher = shared.matcher()
                matcher.advance_bytes(b"aabab")
                assert len(matcher.allowed()) in (2, 3)
                assert check("a[ab]?") == [1, None, 3]
                rows = detent.allocate_mask(4, 257)
                detent.BatchMatcher([shared.matcher() for _ in range(4)], threads=2).fill_mask(rows)
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        failed += os.waitpid(child, 0)[1] != 0
    stop.set()
    for thread in threads:
        thread.join()
    print("failed", failed)
    """
    )
    assert out == "failed 0\n"


@pytest.mark.parametrize("kind", ["daemon threads", "pool"])
def test_the_interpreter_exits_while_threads_compile(kind: str) -> None:
    start = {
        "daemon threads": "for _ in range(4): threading.Thread(target=work, daemon=True).start()",
        "pool": """
    from concurrent.futures import ThreadPoolExecutor
    pool = ThreadPoolExecutor(4)
    for number in range(200):
        pool.submit(check, f"a(?:[^b]{{0,{number}}}|[ab]*a[ab]{{3}})")
    pool.shutdown(wait=False, cancel_futures=True)""",
    }[kind]
    out = run_python(
        _COMPILING
        + f"""
    {start}
    while next(numbers) < 20 and {kind == "daemon threads"}:
        threading.Event().wait(0.001)
    print("leaving")
    """
    )
    assert out == "leaving\n"


def test_masks_are_the_same_in_every_process_and_locale() -> None:
    script = """
    import hashlib, locale
    import detent
    for name in ("tr_TR.UTF-8", "de_DE.UTF-8", "tr_TR"):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            pass
    tokens = [bytes([byte]) for byte in range(256)] + [b"ab", b"1.5", b"1,5", "\\u0130i".encode(), "\\u0131I".encode()]
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[len(tokens)])
    digest = hashlib.sha256()
    for pattern in ("(?i)title|I+", r"[0-9]{1,3}[.,][0-9]", r"\\w+", "[^a-z]*", "(?:ab|ba){2,9}(?!a)"):
        matcher = detent.compile(detent.regex(pattern), vocabulary).matcher()
        for _ in range(6):
            allowed = matcher.allowed()
            digest.update(allowed.tobytes())
            if allowed[-1] == len(tokens):
                break
            matcher.advance(allowed[len(allowed) // 2])
        digest.update(str(matcher.guide.state_count).encode())
    print(digest.hexdigest())
    """
    runs = [
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
        {"LC_ALL": "C"},
    ]
    assert len({run_python(script, **environment) for environment in runs}) == 1


# --- Memory


def test_many_patterns_stay_within_the_cache() -> None:
    """Thousands of unlike patterns on one vocabulary: guides are freed, masks are kept within the cache's bound."""
    out = run_python(
        """
    import random, resource
    import detent
    from detent import _core

    choose = random.Random(0)
    tokens = [bytes([byte]) for byte in range(256)] + [bytes(choose.choices(b"abcdefgh", k=5)) for _ in range(20_000)]
    end = len(tokens)
    vocabulary = detent.Vocabulary([*tokens, b""], eos_token_ids=[end])
    limit = 4 << 20
    vocabulary._tables.core = _core.Vocabulary([*tokens, b""], [], [end], end + 1, limit)
    row = detent.allocate_mask(1, end + 1)[0]

    def use(number):
        guide = detent.compile(detent.regex(f"[^x{chr(0x4e00 + number)}]{{3,9}}x{number}"), vocabulary)
        guide.matcher().fill_mask(row)

    for number in range(1_500):
        use(number)
        assert vocabulary._tables.core.cache_bytes <= limit
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert vocabulary._tables.core.cache_bytes > limit // 2
    for number in range(1_500, 4_500):
        use(number)
        assert vocabulary._tables.core.cache_bytes <= limit
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
    """
    )
    assert int(out) <= 16  # MiB


def test_guides_and_matchers_outlive_what_they_came_from() -> None:
    vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
    language = detent.regex("ab")
    guide = detent.compile(language, vocabulary)
    matcher = guide.matcher()
    del vocabulary, language, guide
    fork = matcher.fork()
    del matcher
    fork.advance(0)
    assert fork.allowed().tolist() == [1]
