// What `help` says of a matcher's methods. tests/test_docstrings.py runs the examples.
#pragma once

namespace detent::matcher_docs {

constexpr const char* kFillMask = R"doc(Write the tokens that are allowed next.

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
A mask that was computed before is copied. Another is computed, with the interpreter's lock released.)doc";

constexpr const char* kAdvance = R"doc(Take a token.

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
Costs time linear in the token's bytes, once their states are known.)doc";

constexpr const char* kRollback = R"doc(Undo steps, the last one by default; end-of-text can be undone, too.

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
Costs time linear in the steps.)doc";

constexpr const char* kCompletion = R"doc(Return the token ids of the shortest known completion, end-of-text left out.

>>> import detent
>>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
>>> detent.compile(detent.regex("a{3}b"), vocabulary).matcher().completion()
[0, 0, 2]

It fits the budget. The list is empty where the text may end. `completion` does not take the tokens.

Raises
------
LimitError
    To find it takes more work than `Limits` allow, or it is too long to be written out.)doc";

constexpr const char* kForced = R"doc(Return the token ids with which every continuation begins, often none.

>>> import detent
>>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
>>> detent.compile(detent.regex("b(a|b)"), vocabulary).matcher().forced()
[1]

They need no call of the model. `forced` does not take them.

Notes
-----
Costs a mask for each.)doc";

constexpr const char* kBudgetBoundAt =
    R"doc(The number of tokens taken when `max_tokens` first removed a token from a mask; None if it has not.

>>> import detent
>>> vocabulary = detent.Vocabulary([b"a", b"b", b""], eos_token_ids=[2])
>>> matcher = detent.compile(detent.regex("a*b"), vocabulary).matcher(max_tokens=2)
>>> matcher.advance(0)
>>> matcher.allowed().tolist(), matcher.budget_bound_at
([1], 1))doc";

constexpr const char* kIsAccepting = R"doc(Whether the text may end here: end-of-text is allowed, or was taken.

>>> import detent
>>> vocabulary = detent.Vocabulary([b"a", b"b", b"ab", b""], eos_token_ids=[3])
>>> matcher = detent.compile(detent.regex("ab+"), vocabulary).matcher()
>>> matcher.advance(2)
>>> matcher.is_accepting, matcher.is_finished
(True, False))doc";

constexpr const char* kIsFinished = R"doc(Whether end-of-text was taken, after which no token may follow.

>>> import detent
>>> vocabulary = detent.Vocabulary([b"a", b""], eos_token_ids=[1])
>>> matcher = detent.compile(detent.regex("a*"), vocabulary).matcher()
>>> matcher.advance(1)
>>> matcher.is_finished
True)doc";

constexpr const char* kStepCount = R"doc(The number of steps taken: tokens, and calls of `advance_bytes`.

>>> import detent
>>> vocabulary = detent.Vocabulary([b"a", b""], eos_token_ids=[1])
>>> matcher = detent.compile(detent.regex("a*"), vocabulary).matcher()
>>> matcher.advance_bytes(b"aaa")
>>> matcher.advance(0)
>>> matcher.step_count
2)doc";

constexpr const char* kTokenIds =
    R"doc(The steps so far as a new list: token ids, end-of-text included, and -1 for bytes.

>>> import detent
>>> vocabulary = detent.Vocabulary([b"a", b""], eos_token_ids=[1])
>>> matcher = detent.compile(detent.regex("a*"), vocabulary).matcher()
>>> matcher.advance_bytes(b"aaa")
>>> matcher.advance(0)
>>> matcher.token_ids
[-1, 0]

Costs time linear in the steps.)doc";

}  // namespace detent::matcher_docs
