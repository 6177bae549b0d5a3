from collections.abc import Callable, Sequence
import enum
from typing import SupportsIndex, overload


class Node:
    """The syntax of a language; immutable."""

    def __hash__(self) -> int: ...

    @overload
    def __eq__(self, arg: Node, /) -> bool: ...

    @overload
    def __eq__(self, arg: object | None, /) -> object: ...

    def __repr__(self) -> str: ...

    def text(self, max_bytes: int = 1000) -> str:
        """The textual form (cpp/expr/print.h), cut at so many bytes."""

    def to_bytes(self) -> bytes: ...

    @property
    def depth(self) -> int: ...

    @property
    def has_special(self) -> bool: ...

    @property
    def has_distinct(self) -> bool: ...

    @property
    def special_names(self) -> list[bytes]:
        """Of the special tokens that a vocabulary must have."""

UNBOUNDED: int = 4294967295

def node_from_bytes(text: bytes) -> Node: ...

def empty() -> Node: ...

def epsilon() -> Node: ...

def byte_set(values: bytes) -> Node: ...

def literal(text: bytes) -> Node: ...

def chars(ranges: Sequence[tuple[int, int]]) -> Node: ...

def concat(parts: Sequence[Node]) -> Node: ...

def union(parts: Sequence[Node]) -> Node: ...

def intersection(parts: Sequence[Node]) -> Node: ...

def complement(part: Node) -> Node: ...

def repeat(part: Node, minimum: int, maximum: int | None) -> Node: ...

def lookahead(body: Node, negative: bool) -> Node: ...

def lookbehind(body: Node, negative: bool) -> Node: ...

def text_scope(body: Node) -> Node: ...

def reference(index: int) -> Node: ...

def grammar(definitions: Sequence[Node], start: int) -> Node: ...

def share(node: Node) -> None: ...

def json_string(texts: Node, serialized: bool = False) -> Node: ...

def unordered(items: Sequence[tuple[Node, bool]], others: Node | None, separator: Node, minimum: int, maximum: int | None) -> Node: ...

def ordered(members: Sequence[tuple[Node, bool]], others: Node | None, separator: Node, some: bool = False) -> Node: ...

def distinct(key: Node, rest: Node, separator: Node, minimum: int, maximum: int | None, names: bool = False) -> Node:
    """
    Items of which no two have equal keys: JSON values, or names of members.
    """

def ordered_kinds(kinds: Sequence[tuple[Node | None, Node]], order: Node, separator: Node) -> Node:
    """
    Items of several kinds, whose indexes in turn are a text of `order`. No two keys are equal, names of members.
    """

def maximal_munch(body: Node, within: Node | None = None, escape: bytes = ...) -> Node:
    """
    `escape` is a text that may always come next, and that nothing makes a part of the match.
    """

def not_followed_by(body: Node, escape: bytes = ...) -> Node:
    """`escape` is a text that may always come next, whatever follows it."""

def special(name: bytes, otherwise: Node | None = None) -> Node:
    """
    A token without text, and what stands for it where a vocabulary has none.
    """

def special_as_text(node: Node, names: Sequence[bytes]) -> Node:
    """Where these special tokens are plain texts."""

def without_special(node: Node) -> Node:
    """The texts without special tokens, which have none."""

class PlainSchemas:
    """JSON Schemas whose keywords decide different parts of the texts."""

    def __init__(self, parts: dict, written: bool, ordered: bool, names: Sequence[Sequence[str]], formats: Sequence[str], dialects: Sequence[tuple[str, str, int]], constrained: Callable, closed: Callable, intended: Callable) -> None:
        """
        `names` are those of annotations, identifiers, constraints of scalars, and all keywords.
        """

    def open(self, text: str, max_schemas: int) -> PlainReader:
        """The reader of a document; None if the text is unusual."""

class PlainReader:
    """One document of `PlainSchemas`."""

    def document(self) -> tuple[Node, list[tuple[str, str, str]], str | None, list[str], int] | None:
        """
        The expression of the whole document, its advice, the root's title, first names and number of names; None if it is not plain.
        """

    def schema_at(self, pointer: str) -> Node | None:
        """
        The expression of the schema at a JSON pointer; None if it is not plain or needs a warning.
        """

def checksum(data: object) -> bytes:
    """Return the 16 bytes of the checksum of saved files."""

def merges_span(json: bytes) -> tuple[int, int] | None:
    """
    Return where the array `model.merges` of a tokenizer.json begins and where it ends, if the text has the usual form.
    """

class CancelFlag:
    def __init__(self) -> None: ...

    def set(self) -> None: ...

    def is_set(self) -> bool: ...

class Vocabulary:
    def __init__(self, tokens: list, special: Sequence[int], eos_ids: Sequence[int], size: int, cache_bytes: int = 134217728) -> None: ...

    @staticmethod
    def from_arrays(pool: object, ends: object, special: Sequence[int], eos_ids: Sequence[int], size: int, trie: object, cache_bytes: int = 134217728) -> Vocabulary:
        """
        Make a vocabulary of the joined bytes of its tokens, the int32 offsets where each ends, and the `save_trie` of an equal one.
        """

    def save_trie(self) -> bytes:
        """Return the trie as bytes."""

    @property
    def size(self) -> int: ...

    @property
    def word_count(self) -> int: ...

    @property
    def longest(self) -> int: ...

    @property
    def has_every_byte(self) -> bool: ...

    def with_special(self) -> Vocabulary: ...

    @property
    def trie_nodes(self) -> int: ...

    @property
    def cache_bytes(self) -> int: ...

    @property
    def cache_counts(self) -> tuple[int, int, int, int]:
        """Hits and misses of masks, hits and misses of the masks of slices."""

def read_merges(ids: dict[str, int], json: bytes, unmerged: str = '') -> bytes:
    """
    Return the merges of a tokenizer.json, from the JSON text of their array, as numbers: left, right, rank, token.
    """

class Encoder:
    """A tokenizer: pre-tokenizer, symbols, merges or scores. Immutable."""

    def __init__(self, pieces: bool, texts: list, base_symbols: bytes, byte_tokens: bytes, merges: bytes, ignore_merges: bool, class_ranges: Sequence[tuple[int, int]], class_count: int, pretokenizer: Sequence[tuple[int, int, int, int]], single_pretoken: bool, scores: bytes = ..., unknown_score: float = 0.0, split_at_spaces: bool = False) -> None: ...

    def encode(self, text: bytes) -> list[int]: ...

    def is_reachable(self, token: int) -> bool: ...

    def is_non_monotone(self, token: int) -> bool: ...

    def may_follow(self, left: int, right: int) -> bool:
        """Return whether two tokens may be adjacent in a pre-token."""

    def followers(self, left: int, among: Sequence[int] | None = None) -> list[int]:
        """
        Return the tokens, of all or of `among`, that may follow another one in a pre-token.
        """

    @property
    def pretokenizer_states(self) -> int: ...

class PretokenTransitions:
    """
    The pre-tokenizer of a tokenizer, lifted to the tokens of its vocabulary.
    """

    def __init__(self, vocabulary: Vocabulary, encoder: Encoder) -> None: ...

class Automaton:
    """A language as a lazily built automaton over bytes; state 0 is dead."""

    def __init__(self, language: Node, states: int, memory_bytes: int, steps: int) -> None: ...

    @property
    def start(self) -> int: ...

    @property
    def class_of(self) -> bytes: ...

    def accepting(self, state: int) -> bool: ...

    @property
    def memory_bytes(self) -> int: ...

    @property
    def work(self) -> int:
        """The units of work that were done so far."""

    def least_length(self, state: int) -> int:
        """
        A length that no string from this state to acceptance falls short of, known without a search.
        """

    def row(self, state: int, steps: int = 9223372036854775807) -> list[int]: ...

    def reachable(self, origins: Sequence[int], most: int) -> list[int] | None:
        """
        The live states that texts lead to from some states, these included; None where they are more than `most`.
        """

    def bytes_after(self, origins: Sequence[int]) -> tuple[bytes, bytes]:
        """
        The bytes that lead from each of the states to acceptance, and the others that some of them goes on with.
        """

    def hash(self, state: int) -> tuple[int, int]:
        """
        A hash of the expression of a state: where it is the same, the language is.
        """

    def advance(self, state: int, text: bytes) -> int:
        """The state after a text; 0 if no text of the language continues it."""

    def accepts(self, text: bytes) -> bool:
        """Whether a text is in the language, in bounded memory."""

    def shortest_completion(self, state: int) -> bytes: ...

    def some_completion(self, state: int) -> bytes:
        """
        A string that leads from a live state to acceptance, found without a search.
        """

    def completion_bound(self, state: int) -> int:
        """The length of some string that leads from a live state to acceptance."""

    def completion_step(self, state: int) -> tuple[int, int, int] | None:
        """
        The first byte of some completion of a live state, the state after it, and the length; None if it accepts.
        """

    def state_text(self, state: int, max_bytes: int = 200) -> str:
        """The expression of a state, in the textual form of cpp/expr/print.h."""

class LanguageSet:
    """The automata of many languages, which compile what they share once."""

    def __init__(self, nodes: Sequence[Node], states: int, memory_bytes: int, steps: int) -> None: ...

    @property
    def state_count(self) -> int: ...

    def automaton(self, language: Node) -> Automaton | None:
        """
        The automaton of a language; None where its bytes divide a byte class of the set's nodes.
        """

class TokenDfa:
    """The arrays of a token DFA, checked; they must not be written to."""

    def __init__(self, next: object, token_class: object, masks: object, mask_index: object, distance: object) -> None: ...

class TokenMachine:
    """A constraint on sequences of tokens."""

    def completes_within(self, tokens: int, prompt_tokens: Sequence[int] = []) -> bool:
        """Whether a text of at most so many tokens is known."""

    def explore(self, max_states: int, max_bytes: int, dfa: TokenDfa | None = None, dfa_start: int = 2) -> tuple[bytes, bytes, bytes]: ...

    def renew(self) -> None:
        """
        Let a machine without the states of decoding take over, as it does where memory gets short.
        """

    @property
    def state_count(self) -> int: ...

    @property
    def memory_bytes(self) -> int: ...

class LanguageMachine(TokenMachine):
    def __init__(self, language: Node, vocabulary: Vocabulary, states: int, memory_bytes: int, steps: int, cancel: CancelFlag | None = None) -> None: ...

    def longest(self) -> int | None:
        """The tokens of the longest text, if there is one."""

    def shortest(self) -> list[int]:
        """The tokens of a shortest text."""

class CanonicalMachine(TokenMachine):
    def __init__(self, language: Node, vocabulary: Vocabulary, transitions: PretokenTransitions, states: int, memory_bytes: int, steps: int, cancel: CancelFlag | None = None, part: Node | None = None, part_tokens: int = 0) -> None: ...

class PartBudgetMachine(TokenMachine):
    def __init__(self, whole: LanguageMachine, part: Node, tokens: int, states: int, memory_bytes: int, steps: int, cancel: CancelFlag | None = None) -> None: ...

class TokenDfaMachine(TokenMachine):
    def __init__(self, dfa: TokenDfa, vocabulary: Vocabulary, start: int = 2) -> None: ...

def merge_states(next: bytes, labels: bytes, classes: int) -> bytes:
    """
    The part of each state in the coarsest partition that separates the labels and that symbols respect.
    """

class Refusal(enum.Enum):
    """Why a token may not follow."""

    NONE = 0

    UNKNOWN_TOKEN = 1

    FINISHED = 2

    INCOMPLETE = 3

    NO_TEXT = 4

    LANGUAGE = 5

    TOKENIZATION = 6

    TOKEN_DFA = 7

    BUDGET = 8

class Matcher:
    @overload
    def __init__(self, machine: TokenMachine, max_tokens: int | None = None, prompt_tokens: Sequence[int] = []) -> None: ...

    @overload
    def __init__(self, other: Matcher) -> None: ...

    def fill_mask(self, row: object) -> None:
        """
        Write the tokens that are allowed next.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
        >>> mask = detent.allocate_mask(batch=1, vocab_size=len(vocabulary))
        >>> detent.compile(detent.regex("ab+"), vocabulary).matcher().fill_mask(mask[0])
        >>> f"{mask[0, 0]:04b}"                                # ids 0 and 2
        '0101'

        Parameters
        ----------
        row : int32[ceil(V / 32)], CPU, C-contiguous
            NumPy array or torch tensor, overwritten. Bit ``t & 31`` of word ``t >> 5`` is 1 for each allowed token id t.
            End-of-text is allowed just where the text may end; after it, nothing else is.

        Raises
        ------
        ArgumentError
            The row has another type, shape or device.
        LimitError
            The mask takes more work or memory than `Limits` allow.

        Notes
        -----
        A mask that was computed before is copied. Another is computed, with the interpreter's lock released.
        """

    def advance(self, token_id: SupportsIndex) -> None:
        """
        Take a token.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
        >>> matcher = detent.compile(detent.regex("ab+"), vocabulary).matcher()
        >>> matcher.advance(2)
        >>> matcher.advance(0)
        Traceback (most recent call last):
            ...
        detent.errors.StateError: token id 0 leads out of the language; the state is unchanged

        Raises
        ------
        StateError
            The token is not allowed here, or the sequence is finished. The state is unchanged; `why` returns the reason.
        ArgumentError
            The id is no integer.

        Notes
        -----
        Costs time linear in the token's bytes, once their states are known.
        """

    def advance_bytes(self, text: bytes) -> None:
        """Take bytes as one step that is no token."""

    def rollback(self, steps: SupportsIndex = 1) -> None:
        """
        Undo steps, the last one by default; end-of-text can be undone, too.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
        >>> matcher = detent.compile(detent.regex("ab+"), vocabulary).matcher()
        >>> for token_id in (2, 1, 3):
        ...     matcher.advance(token_id)
        >>> matcher.rollback(2)
        >>> matcher.token_ids
        [2]

        Raises
        ------
        StateError
            Fewer steps were taken. The state is unchanged.

        Notes
        -----
        Costs time linear in the steps.
        """

    def _refusal(self, token_id: SupportsIndex) -> Refusal:
        """Return why a token may not follow."""

    def _diagnose(self, text: bytes) -> tuple[int, bytes, bool, bool]:
        """
        Return how many bytes may follow, which byte may follow these, and whether they complete the text and can be continued with tokens.
        """

    def _has_taken(self, token_ids: object) -> bool:
        """
        Return whether the steps are exactly these tokens, int64[n]. Linear, without a copy.
        """

    def _fill_draft_tree(self, tokens: object, parents: object, rows: object, index: object, allowed: object) -> int:
        """
        Write the masks of a draft tree: tokens and parents int64[n], rows int32[n + 1, words], index int32[n + 1], allowed uint8[n]; return the number of rows written.
        """

    def _count_allowed(self, tokens: object) -> int:
        """
        Return how many of the tokens, int64[n], may follow one after the other.
        """

    def completion(self) -> list[int]:
        """
        Return the token ids of the shortest known completion, end-of-text left out.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
        >>> detent.compile(detent.regex("a{3}b"), vocabulary).matcher().completion()
        [0, 0, 2]

        It fits the budget. The list is empty where the text may end. `completion` does not take the tokens.

        Raises
        ------
        LimitError
            To find it takes more work than `Limits` allow, or it is too long to be written out.
        """

    def forced(self) -> list[int]:
        """
        Return the token ids with which every continuation begins, often none.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
        >>> detent.compile(detent.regex("b(a|b)"), vocabulary).matcher().forced()
        [1]

        They need no call of the model. `forced` does not take them.

        Notes
        -----
        Costs a mask for each.
        """

    @property
    def budget_bound_at(self) -> int | None:
        """
        The number of tokens taken when `max_tokens` first removed a token from a mask; None if it has not.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
        >>> matcher = detent.compile(detent.regex("a*b"), vocabulary).matcher(max_tokens=2)
        >>> matcher.advance(0)
        >>> matcher.allowed().tolist(), matcher.budget_bound_at
        ([1], 1)
        """

    @property
    def is_accepting(self) -> bool:
        """
        Whether the text may end here: end-of-text is allowed, or was taken.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
        >>> matcher = detent.compile(detent.regex("ab+"), vocabulary).matcher()
        >>> matcher.advance(2)
        >>> matcher.is_accepting, matcher.is_finished
        (True, False)
        """

    @property
    def is_finished(self) -> bool:
        """
        Whether end-of-text was taken, after which no token may follow.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b""], eos_token_ids=[1])
        >>> matcher = detent.compile(detent.regex("a*"), vocabulary).matcher()
        >>> matcher.advance(1)
        >>> matcher.is_finished
        True
        """

    @property
    def step_count(self) -> int:
        """
        The number of steps taken: tokens, and calls of `advance_bytes`.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b""], eos_token_ids=[1])
        >>> matcher = detent.compile(detent.regex("a*"), vocabulary).matcher()
        >>> matcher.advance_bytes(b"aaa")
        >>> matcher.advance(0)
        >>> matcher.step_count
        2
        """

    @property
    def _state_key(self) -> tuple[int, int, int, int, int, int]:
        """The state as numbers: equal for equal states of one machine."""

    @property
    def token_ids(self) -> list[int]:
        """
        The steps so far as a new list: token ids, end-of-text included, and -1 for bytes.

        >>> import detent
        >>> vocabulary = detent.Vocabulary([b"a", b""], eos_token_ids=[1])
        >>> matcher = detent.compile(detent.regex("a*"), vocabulary).matcher()
        >>> matcher.advance_bytes(b"aaa")
        >>> matcher.advance(0)
        >>> matcher.token_ids
        [-1, 0]

        Costs time linear in the steps.
        """

def equal_ids(ids: object, others: object) -> bool:
    """Whether two rows of token ids, int64[n], are the same. Without a copy."""

class MaskSlots:
    """Mask rows that a batch shares."""

    def __init__(self, rows: object, count: int, words: int) -> None: ...

    def fill(self, matchers: Sequence[Matcher], index: object, threads: int, wait: float | None) -> list[int]:
        """
        Write the slot of each matcher's mask to `index`, int32[n]; return the slots that were written.
        """

    def forget(self) -> None: ...

def fill_batch(matchers: Sequence[Matcher], rows: object, threads: int) -> None: ...

def apply_mask(logits: object, type: int, mask: object) -> None:
    """
    Set the logits [rows, width] that a mask does not allow to -inf; `type` is a LogitType (cpp/logits/apply.h).
    """

def few_allowed(mask: object, most: int) -> bytes | None:
    """The ids that a mask row allows, if at most so many."""

def allowed_sums(numbers: object, mask: object) -> tuple[float, float]:
    """The sums of what a mask row allows of a float32 row, and of the rest."""

def copy_masked(logits: object, mask: object, to: object) -> None:
    """Copy a float32 row, with -inf where a mask row has no bit."""
