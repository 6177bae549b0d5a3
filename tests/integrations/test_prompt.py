"""The tracker of prompts, on the sequences of ids that transformers' decoding loops show."""

from __future__ import annotations

import numpy as np

from detent.integrations.prompt import PromptTracker


def lengths(*calls: list[list[int]] | list[int]) -> list[int]:
    tracker = PromptTracker()
    return [tracker.prompt_length(np.atleast_2d(np.array(ids, dtype=np.int64))) for ids in calls]


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


def test_a_longer_prompt_after_the_same_prompt_twice() -> None:
    first, second = ([7, 8], [7, 8, 1], [7, 8, 1, 2]), ([7, 8], [7, 8, 3], [7, 8, 3, 4])
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
    draft = ([7], [7, 1], [7, 1, 2])  # and drafts 3
    verify = ([7], [7, 1], [7, 1, 2], [7, 1, 2, 3])
    again = ([7, 1, 9], [7, 1, 9, 4], [7, 1, 9], [7, 1, 9, 4], [7, 1, 9, 4, 5])  # takes 1, writes 9
    all_taken = ([7, 1, 9, 4, 5, 6],)
    assert lengths(*draft, *verify, *again, *all_taken) == [1] * 13


def test_a_draft_of_one_that_is_refused() -> None:
    assert lengths([7], [7], [7, 1], [7, 2], [7, 2], [7, 2, 1], [7, 2, 3]) == [1] * 7


def test_prompt_lookup_asks_twice_before_it_writes() -> None:
    assert lengths([7, 1, 7], [7, 1, 7, 1], [7, 1, 7], [7, 1, 7, 1], [7, 1, 7, 1, 7], [7, 1, 7, 1, 3]) == [3] * 6


def test_after_an_assisted_call_a_prompt_that_departs_earlier_is_new() -> None:
    assisted = ([7], [7, 1], [7], [7, 1], [7, 1, 2], [7, 1, 2, 3], [7, 1, 2], [7, 1, 2, 3], [7, 1, 2, 3, 4])
    assert lengths(*assisted, [7, 9], [7, 9, 1]) == [1] * 9 + [2, 2]


def test_what_cannot_be_told_apart_continues() -> None:
    """As documented: the previous ids and exactly one more, as a prompt."""
    assert lengths([7, 8], [7, 8, 1], [7, 8, 1, 2]) == [2, 2, 2]
