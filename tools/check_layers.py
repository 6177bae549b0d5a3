"""Check that the includes of cpp/ run one way, as the code map in ARCHITECTURE.md draws them.

A folder of cpp/ is a layer. It may include its own headers and those of the layers
that its entry below names, nothing else:

    base <- expr <- automaton <- runtime          base <- mask <- vocab <- runtime
              ^------- vocab                      base <- bpe <- runtime
                                                  base <- logits          expr <- schema    everything <- bind

Inside runtime/, files are parts of a layer too: users of token machines know their interface alone.

    interface <- users            masks <- canonical <- machines
        ^------------------------------------------------'

    python tools/check_layers.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ALLOWED: dict[str, set[str]] = {
    "base": set(),
    "expr": {"base"},
    "mask": {"base"},
    "bpe": {"base"},
    "logits": {"base"},
    "automaton": {"base", "expr"},
    "schema": {"base", "expr"},
    "vocab": {"base", "expr", "mask"},
    "runtime": {"base", "expr", "mask", "automaton", "vocab", "bpe"},
    "bind": {"base", "expr", "mask", "logits", "automaton", "vocab", "bpe", "runtime", "schema"},
}
RUNTIME: dict[str, tuple[set[str], set[str]]] = {
    "interface": ({"token_machine"}, set()),
    "users": (
        {
            "batch",
            "draft_tree",
            "explore",
            "history",
            "machine_slot",
            "mask_slots",
            "mask_worker",
            "matcher",
            "minimize",
            "parallel",
        },
        {"interface"},
    ),
    "masks": (
        {
            "alternative_distances",
            "part_texts",
            "alternative_sets",
            "alternative_walk",
            "conjunct_pairs",
            "conjunct_search",
            "conjunction_walk",
            "class_run",
            "condition_walk",
            "conditioned_slice_masks",
            "exclusion_search",
            "exclusion_texts",
            "exclusion_walk",
            "fitting_walk",
            "free_bytes",
            "kept_search",
            "literal_walk",
            "mask_computer",
            "part_walk",
            "recent_continuations",
            "recent_states",
            "repeated_items",
            "reference_walk",
            "conjunct_sets",
            "set_table",
            "slice_masks",
            "string_slice_masks",
            "string_tokens",
            "target_nodes",
            "trie_walk",
            "unbounded_reference",
        },
        set(),
    ),
    "canonical": (
        {
            "byte_fallback_endings",
            "canonical_alternative_walk",
            "canonical_conjunction_walk",
            "canonical_constraint",
            "canonical_masks",
            "canonical_slice_walk",
            "canonical_slices",
            "completion_search",
            "completions",
            "greedy_completions",
            "known_completions",
            "prefix_states",
            "pretoken_endings",
            "pretoken_position",
            "pretoken_transitions",
            "short_texts",
            "single_pretoken_completions",
            "split_positions",
            "token_bounds",
            "token_shapes",
            "tokenized_language",
            "walk_limit",
        },
        {"masks"},
    ),
    "machines": (
        {
            "budget",
            "budget_questions",
            "canonical_machine",
            "compile_trial",
            "item_budget",
            "item_strings",
            "language_machine",
            "part_budget_machine",
            "token_dfa",
        },
        {"interface", "masks", "canonical"},
    ),
}
"""The parts of runtime/: their files, and the other parts that they may include."""

EXPLORED = {("explore", "token_dfa")}
"""An exploration fills the arrays of a token DFA: the one machine that a user knows."""

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def violations(root: Path) -> list[str]:
    """Return one line for each include, below `root`, that its layer does not allow."""
    found = []
    for source in sorted(path for path in root.rglob("*") if path.suffix in {".h", ".cc"}):
        layer = source.relative_to(root).parts[0]
        if layer not in ALLOWED:
            found.append(f"{source}: {layer}/ is no layer; add it to ALLOWED in {Path(__file__).name}")
            continue
        targets = INCLUDE.findall(source.read_text(encoding="utf-8"))
        for target in targets:
            if not (root / target).is_file():
                found.append(f'{source}: "{target}" is not a file of {root}; include it with <> or from the root')
            elif Path(target).parts[0] not in ALLOWED[layer] | {layer}:
                found.append(f'{source}: {layer}/ must not include "{target}"')
        if layer == "runtime":
            inside = [Path(target).stem for target in targets if Path(target).parts[0] == "runtime"]
            found += [f"{source}: {problem}" for problem in _runtime_violations(source.stem, inside)]
    return found


def _runtime_violations(name: str, targets: list[str]) -> list[str]:
    part_of = {file: part for part, (files, _) in RUNTIME.items() for file in files}
    if name not in part_of:
        return [f"{name} is in no part of runtime/; add it to RUNTIME in {Path(__file__).name}"]
    part = part_of[name]
    allowed = RUNTIME[part][1] | {part}
    return [
        f"{part} of runtime/ must not include {target}, one of the {part_of.get(target)}"
        for target in targets
        if part_of.get(target) not in allowed and (name, target) not in EXPLORED
    ]


def main() -> int:
    """Print the violations; 0 if there are none."""
    root = Path(__file__).resolve().parents[1] / "cpp"
    found = violations(root)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
