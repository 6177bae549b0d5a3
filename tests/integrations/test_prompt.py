"""The tracker of prompts, on the sequences of ids that transformers' decoding loops show."""

from __future__ import annotations

import numpy as np
import pytest

from detent.integrations.prompt import PromptTracker


class View(list[int]):
    """Ids that are a view of the same tensor as the ids before them."""


def lengths(*calls: list[list[int]] | list[int]) -> list[int]:
    tracker = PromptTracker()
    return [
        tracker.prompt_length(np.atleast_2d(np.array(ids, dtype=np.int64)), same_tensor=isinstance(ids, View))
        for ids in calls
    ]


def verify(candidate: list[int], start: int) -> list[list[int]]:
    """Return the calls by which assisted generation verifies a draft, as `_assisted_decoding` makes them."""
    return [candidate[:start], *(View(candidate[:length]) for length in range(start + 1, len(candidate) + 1))]


def test_the_first_call_is_the_prompt_and_steps_continue_it() -> None:
    assert lengths([7, 8], [7, 8, 1], [7, 8, 1, 2]) == [2, 2, 2]


def test_no_prompt_at_all() -> None:
    empty: list[int] = []
    assert lengths([empty], [[5]], [[5, 6]], [empty], [[4]]) == [0, 0, 0, 0, 0]


def test_other_ids_are_a_new_prompt() -> None:
    assert lengths([7, 8], [7, 8, 1], [9, 9], [9, 9, 1]) == [2, 2, 2, 2]
    assert lengths([7, 8], [7, 8, 1], [9, 9, 9, 9], [9, 9, 9, 9, 1]) == [2, 2, 4, 4]
    assert lengths([7, 8], [7, 8, 1], [7], [7, 1]) == [2, 2, 1, 1]


def test_the_same_prompt_again() -> None:
    assert lengths([7, 8], [7, 8, 1], [7, 8, 1, 2], [7, 8], [7, 8, 3], [7, 8, 3, 4]) == [2] * 6


@pytest.mark.parametrize("second", [([7, 8], [7, 8, 3], [7, 8, 3, 4]), ([7, 8], [7, 8, 1], [7, 8, 1, 2])])
def test_a_longer_prompt_after_the_same_prompt_twice(second: tuple[list[int], ...]) -> None:
    first = ([7, 8], [7, 8, 1], [7, 8, 1, 2])
    assert lengths(*first, *second, [7, 8, 9], [7, 8, 9, 1]) == [2] * 6 + [3, 3]


def test_a_conversation_that_grows_is_a_new_prompt_at_each_turn() -> None:
    first = ([7, 8], [7, 8, 1], [7, 8, 1, 2])  # and wrote 3 at last
    assert lengths(*first, [7, 8, 1, 2, 3, 9]) == [2, 2, 2, 6]
    assert lengths(*first, [7, 8, 1, 2, 3, 9], [7, 8, 1, 2, 3, 9, 1]) == [2, 2, 2, 6, 6]


def test_a_prompt_with_one_more_id_than_an_earlier_one_is_new_after_more_than_one_step() -> None:
    assert lengths([7, 8], [7, 8, 1], [7, 8, 1, 2], [7, 8, 5], [7, 8, 5, 1]) == [2, 2, 2, 3, 3]
    assert lengths([7, 8], [7, 8, 1], [7, 8, 1, 2], [7, 8, 1, 5], [7, 8, 1, 5, 1]) == [2, 2, 2, 4, 4]


def test_other_numbers_of_rows_are_a_new_call() -> None:
    assert lengths([[7, 8]], [[7, 8, 1]], [[7, 8, 1], [7, 8, 1]]) == [2, 2, 3]


def test_beams_permute_and_repeat_rows_of_their_prompt() -> None:
    prompt = [[0, 7], [0, 7], [5, 6], [5, 6]]
    second = [[0, 7, 1], [0, 7, 2], [5, 6, 3], [5, 6, 4]]
    third = [[0, 7, 2, 1], [0, 7, 2, 3], [5, 6, 4, 1], [5, 6, 3, 1]]
    assert lengths(prompt, second, third) == [2, 2, 2]


def test_rows_that_were_not_there_are_a_new_call() -> None:
    prompt, second = [[0, 7], [0, 7]], [[0, 7, 1], [0, 7, 2]]
    assert lengths(prompt, second, [[0, 7, 1, 1], [0, 7, 3, 1]]) == [2, 2, 4]


def test_an_assistant_drafts_and_the_model_takes_back() -> None:
    first = ([7], [7, 1], [7, 1, 2], *verify([7, 1, 2, 3], 1))
    second = ([7, 1, 9], [7, 1, 9, 4], *verify([7, 1, 9, 4, 5], 3))  # took 1, wrote 9, took all of 4 and 5
    third = ([7, 1, 9, 4, 5, 6], *verify([7, 1, 9, 4, 5, 6, 8], 6), [7, 1, 9, 4, 5, 6, 0])
    assert set(lengths(*first, *second, *third)) == {1}


def test_a_draft_of_one_that_is_refused() -> None:
    assert set(lengths([7], *verify([7, 1], 1), [7, 2], *verify([7, 2, 1], 2), [7, 2, 3])) == {1}


def test_prompt_lookup_asks_twice_before_it_writes() -> None:
    first = ([7, 1, 7], [7, 1, 7, 1], *verify([7, 1, 7, 1, 7], 3), [7, 1, 7, 1, 3])
    second = ([7, 1, 7, 1, 3], [7, 1, 7, 1, 3, 7], *verify([7, 1, 7, 1, 3, 7, 1], 5), [7, 1, 7, 1, 3, 2])
    assert set(lengths(*first, *second)) == {3}


def test_a_draft_that_is_verified_only_in_part() -> None:
    """Prompt lookup looks past an end-of-text that it then cuts off."""
    assert set(lengths([7], [7, 1], [7, 1, 2], [7, 1, 2, 5], *verify([7, 1, 2], 1), [7, 1, 4])) == {1}


def test_a_draft_that_was_not_shown_before() -> None:
    """Drafters that do not ask logits processors."""
    assert set(lengths(*verify([7, 1, 2], 1), *verify([7, 1, 5, 6], 3), *verify([7, 1, 5, 6, 9], 5))) == {1}


def test_after_an_assisted_call_a_prompt_that_departs_earlier_is_new() -> None:
    first = ([7], [7, 1], *verify([7, 1, 2], 1), [7, 1, 2, 3], *verify([7, 1, 2, 3, 4], 4))
    assert lengths(*first, [7, 9], [7, 9, 1])[-2:] == [2, 2]
    assert lengths(*first, [7, 1, 9], [7, 1, 9, 1])[-2:] == [3, 3]


def test_what_cannot_be_told_apart_continues() -> None:
    """As documented: the previous ids as a prompt, cut or with exactly one more."""
    assert lengths([7, 8], [7, 8, 1], [7, 8, 1, 2]) == [2, 2, 2]
    assert lengths([7, 8], [7, 8, 1], [7, 8, 1, 2], [7, 8, 1]) == [2, 2, 2, 2]
