"""The sentences of the core's errors: the core throws a kind, a subject and two numbers (`cpp/base/error.h`)."""

from __future__ import annotations

from detent.errors import (
    ArgumentError,
    BusyError,
    CancelledError,
    DetentError,
    EmptyLanguageError,
    LimitError,
    StateError,
    UnsupportedError,
    VocabularyError,
)

__all__ = ["CORE_SENTENCES", "from_core"]

_KINDS: dict[str, type[DetentError]] = {
    "argument": ArgumentError,
    "unsupported": UnsupportedError,
    "empty": EmptyLanguageError,
    "limit": LimitError,
    "cancelled": CancelledError,
    "busy": BusyError,
    "state": StateError,
    "vocabulary": VocabularyError,
}

CORE_SENTENCES: dict[tuple[str, str], str] = {
    (
        "argument",
        "assertion_outside_scope",
    ): "a lookaround node stands outside a text scope; wrap the whole in text_scope",
    ("argument", "bytes"): "advance_bytes needs bytes; encode text as UTF-8 first",
    ("argument", "byte_pieces"): "a tokenizer has {given} byte pieces; give all {limit} or none",
    ("argument", "character_class"): "class {given} of characters is not below their number, {limit}",
    ("argument", "character_ranges"): "ranges of characters must begin at 0 and rise",
    ("argument", "encoder_size"): "the tokenizer has {given} ids, but the vocabulary has {limit}",
    ("argument", "draft_parent"): (
        "node {given} of the draft tree has the parent {limit}; a parent is -1 (the sequence) or an earlier node"
    ),
    ("argument", "draft_sizes"): "a draft tree needs as many parents as tokens",
    ("argument", "merge"): "token id {given} of a merge or symbol is not below the number of ids, {limit}",
    ("argument", "merges"): "entry {given} is not two tokens that join to a third",
    ("argument", "no_token"): "the text has a character that the tokenizer has no token for",
    ("argument", "not_text"): "the bytes are not UTF-8 text, and only text is tokenized",
    ("argument", "numbers"): "a row of numbers must have 4 bytes for each",
    ("argument", "split_program"): "a program of the split jumps out of itself",
    ("argument", "code_point"): "code point {given} is above U+10FFFF",
    ("argument", "code_point_range"): "code point range is reversed: {given} is above {limit}",
    ("argument", "wait"): "the seconds to wait must be from 0 to 3600",
    ("argument", "mask_slots"): (
        "{limit} sequences need {limit} slots and one that allows nothing, but there are {given}; give more rows"
    ),
    ("argument", "mask_words"): (
        "the mask row has {given} words of 32 bits, but the vocabulary needs {limit}; use detent.mask.allocate_mask"
    ),
    ("argument", "item_kinds"): "a list has items of {given} kinds, above the limit of {limit}; join some of them",
    ("argument", "item_order"): "an order of kinds is a regular language without lists; give such a one",
    ("argument", "node_bytes"): "not the bytes of a language, or damaged ones, at byte {given} of {limit}",
    ("argument", "nullable_member"): "member {given} of an unordered list may be empty; give one that has a byte",
    ("argument", "open_reference"): "a reference stands outside a grammar; wrap the definitions in grammar(...)",
    ("argument", "plain_schemas"): "a reader of plain schemas needs each text of the notation, and four lists of names",
    ("argument", "reference"): "reference {given} is to none of the {limit} definitions",
    ("argument", "automaton_state"): "state {given} is none that the automaton has returned",
    ("argument", "logits"): "the type code or the shapes of logits and mask do not fit each other",
    ("argument", "logits_width"): (
        "the logits have {given} ids, but the mask allows id {limit}: they are another model's; make the mask with the "
        "vocabulary of the model"
    ),
    ("argument", "merge_states"): "the arrays of an automaton do not fit each other",
    ("argument", "transitions"): "the tokenizer's tables are for another vocabulary",
    ("argument", "token_dfa"): "the arrays of a token DFA do not fit each other or the vocabulary",
    ("argument", "token_dfa_state"): "state {given} is none of the token DFA's {limit}",
    ("argument", "unordered"): "{given} marks for {limit} members",
    ("argument", "rollback"): "rollback needs a number of steps from 0 on, got {given}",
    ("argument", "repeat"): "a repeat of at least {given} and at most {limit} times is impossible",
    ("busy", "mask_slots"): "the mask slots are in use by another thread; give each thread its own",
    ("busy", "matcher"): "the matcher is in use by another thread; give each thread its own with fork()",
    ("cancelled", "work"): "cancelled by the caller",
    ("empty", "language"): "no text satisfies the rule; it asks for things that exclude each other",
    ("empty", "canonical"): (
        "no text of the language is made of the tokenizer's own tokens: each has bytes that are no text to it"
    ),
    ("empty", "after"): (
        "no text of the language goes on from the prompt's last tokens as the tokenizer would write both; take the "
        "prompt's end back into the language with vocabulary.heal, or leave out prompt_tokens="
    ),
    ("empty", "tokenizable"): (
        "no text of the language can be written with the vocabulary's tokens: it lacks bytes that every text needs"
    ),
    ("limit", "depth"): "nesting {given} deep, above the limit of {limit}; flatten the pattern",
    ("limit", "expressions"): "{given} expressions, above the fixed limit of {limit}; simplify the pattern",
    ("limit", "max_tokens"): "no text of the language can be written in {limit} tokens",
    ("limit", "part_tokens"): (
        "thinking_tokens={limit} is too few: the shortest thinking takes {given} tokens with its tags; raise "
        "thinking_tokens to at least {given}"
    ),
    ("limit", "memory_bytes"): (
        "the constraint needs {given} bytes, above the limit of {limit}; simplify it or raise Limits(memory_bytes=...)"
    ),
    (
        "limit",
        "repeat_count",
    ): "a repeat count of {given} is above the largest, {limit}; use an open repeat such as {{n,}}",
    ("limit", "nested_repeat_count"): (
        "repeats of repeats count to {given}, above the largest count, {limit}; use an open repeat such as {{n,}} for "
        "one of them"
    ),
    ("limit", "states"): (
        "the constraint needs {given} automaton states, above the limit of {limit}; "
        "simplify it or raise Limits(states=...)"
    ),
    ("limit", "compiled_bytes"): (
        "the rule alone takes {given} bytes, and decoding needs room beside it: above a quarter of the limit of "
        "{limit}; simplify it or raise Limits(memory_bytes=...)"
    ),
    ("limit", "compiled_states"): (
        "the rule alone takes {given} automaton states, and decoding needs room beside it: above a quarter of the "
        "limit of {limit}; simplify it or raise Limits(states=...)"
    ),
    ("limit", "compiled_work"): (
        "compiling the rule, or a mask of its first steps, takes over {limit} units of work; simplify it or raise "
        "Limits(work=...)"
    ),
    ("limit", "completion"): (
        "the shortest known completion takes {given} bytes, and those over {limit} are not written out; ask for "
        "shorter texts"
    ),
    ("limit", "work"): "a step of the rule takes over {limit} units of work; simplify it or raise Limits(work=...)",
    ("limit", "question_work"): (
        "the question takes over {limit} units of work; ask about a simpler language, or for shorter texts"
    ),
    (
        "state",
        "budget",
    ): "token id {given} leaves no way to complete the text in the {limit} tokens left; the state is unchanged",
    (
        "state",
        "budget_bytes",
    ): "the {given} bytes leave no way to complete the text in the {limit} tokens left; the state is unchanged",
    ("limit", "table_states"): (
        "there are more states than max_states={limit}; keep to a guide's matcher where a rule calls itself, since its "
        "states have no end; else raise it (in compile: Limits(states=...)) or simplify the constraint"
    ),
    ("limit", "table_bytes"): (
        "the table needs over {given} bytes, above max_bytes={limit}; raise it (in compile: Limits(memory_bytes=...)), "
        "simplify the constraint, or keep to a guide's matcher"
    ),
    ("state", "bytes"): "the {given} bytes lead out of the language; the state is unchanged",
    ("state", "early_end"): "end-of-text (token id {given}) before the text is complete; the state is unchanged",
    ("state", "finished"): "the matcher has consumed end-of-text; roll back or start a new one",
    ("state", "not_canonical"): (
        "token id {given} leaves the tokenizer's own tokens: no text of the language is tokenized so; "
        "the state is unchanged"
    ),
    ("state", "no_text"): "token id {given} is special or has no text, so no rule allows it; the state is unchanged",
    ("state", "rollback"): "cannot roll back {given} steps: {limit} were taken",
    ("state", "token"): "token id {given} leads out of the language; the state is unchanged",
    ("state", "token_id"): "token id {given} is outside the vocabulary of {limit} ids; the state is unchanged",
    ("unsupported", "assertion_under_algebra"): (
        "a lookaround inside a complement or intersection of the same text scope has no exact meaning here; "
        "give the operand its own scope"
    ),
    ("unsupported", "merged_bytes"): (
        "the tokenizer merges byte piece {given}; byte pieces are known to stay by themselves only"
    ),
    ("unsupported", "unsplit_bytes"): (
        "token {given} of the tokenizer has a byte that is no token itself, and ignore_merges writes it nevertheless"
    ),
    ("unsupported", "empty_split"): (
        "a regular expression of the tokenizer's split may match nothing, so where some texts are split is not known"
    ),
    ("unsupported", "split_states"): (
        "the tokenizer's split needs over {limit} states; only the splits of known tokenizers are held exactly"
    ),
    ("unsupported", "canonical_bytes"): (
        "advance_bytes takes bytes without saying which tokens they are, and with canonical=True what may follow "
        "depends on these; advance by vocabulary.encode_canonical's tokens"
    ),
    ("unsupported", "token_dfa_bytes"): (
        "advance_bytes takes bytes without saying which tokens they are, and a table knows tokens only; "
        "advance by tokens"
    ),
    ("unsupported", "left_recursion"): "rule {given} may call itself before it reads a byte; remove left recursion",
    ("unsupported", "open_reference"): (
        "a complement, intersection, assertion or string of a grammar's own rules has no least meaning; "
        "use it on closed languages only"
    ),
    ("unsupported", "special_meet"): (
        "an intersection of special tokens with assertions, JSON strings or longest matches is not known; "
        "intersect the parts between the special tokens, and join these"
    ),
    ("unsupported", "rules_under_algebra"): (
        "an intersection or complement of grammars inside a grammar that is intersected again cannot be decided; "
        "combine the languages in one step"
    ),
    ("unsupported", "distinct_ambiguous"): (
        "two lists of distinct items over the same text began at different items; begin them together"
    ),
    ("unsupported", "distinct_canonical_budget"): (
        "how many canonical tokens complete lists of unique items, or of counted members, is not known; write "
        "canonical=False, or leave out max_tokens, uniqueItems or minProperties"
    ),
    ("unsupported", "distinct_few_names"): (
        "counted members need names without number; declare the few names that there are"
    ),
    ("unsupported", "distinct_gaps"): (
        "a completion with unique items or counted members takes a byte that is no token of its own; leave out "
        "max_tokens, uniqueItems or minProperties"
    ),
    ("unsupported", "distinct_keys"): (
        "of the {given} distinct items that a list asks for, a search found {limit} only; ask for fewer items"
    ),
    ("unsupported", "distinct_nested"): (
        "lists of unique items inside unique items that may have few values; leave out one of the two uniqueItems"
    ),
    ("unsupported", "distinct_recursive"): (
        "a list of at least {given} unique items that contain the list itself; leave out uniqueItems or minItems there"
    ),
    ("unsupported", "distinct_under_algebra"): (
        "a list of unique items or counted members cannot be a part of &, - or ~, nor of a comparison, a lookaround or "
        "a ban: its texts are compared as they are written; write the condition into the schema of its items, as a "
        "pattern or not"
    ),
    ("unsupported", "distinct_values"): "an item of a list of unique items must be a JSON value",
    ("unsupported", "loop_in_lookbehind"): "an unbounded loop with assertions inside a lookbehind; bound the loop",
    ("vocabulary", "saved_trie"): "the saved trie is not that of the tokens",
    ("vocabulary", "size"): "a vocabulary of {given} ids is above the largest size, {limit}",
    ("vocabulary", "token_bytes"): "a token of {given} bytes is above the longest, {limit}",
    ("vocabulary", "token_ends"): "the tokens' ends do not rise, or pass the end of their bytes, at {given}",
    ("vocabulary", "token_id"): "token id {given} is outside the vocabulary of {limit} ids",
    ("vocabulary", "tokens"): "{given} tokens do not fit into a vocabulary of size {limit}; raise size",
    ("vocabulary", "trie_nodes"): "the tokens need {given} trie nodes, above the limit of {limit}",
}

_SUBJECTS = {"table_states": "max_states", "table_bytes": "max_bytes"}
"""The core's names of limits that are arguments in Python."""


def from_core(kind: str, subject: str, given: int, limit: int) -> DetentError:
    """Compose the exception for an error that the core has thrown; the binding calls this."""
    sentence = CORE_SENTENCES[kind, subject]
    message = sentence.format(given=given, limit=limit)
    if kind == "limit":
        name = _SUBJECTS.get(subject, subject)
        return LimitError(message, subject=name, limit=limit, given=given if "{given}" in sentence else None)
    return _KINDS[kind](message)
