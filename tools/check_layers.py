"""Check that the includes of cpp/ run one way, as the code map in ARCHITECTURE.md draws them.

A folder of cpp/ is a layer. It may include its own headers and those of the layers
that its entry below names, nothing else:

    base <- expr <- automaton <- runtime          base <- mask <- vocab <- runtime
              ^------- vocab                      base <- bpe <- runtime
                                                  base <- logits          everything <- bind

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
    "vocab": {"base", "expr", "mask"},
    "runtime": {"base", "expr", "mask", "automaton", "vocab", "bpe"},
    "bind": {"base", "expr", "mask", "logits", "automaton", "vocab", "bpe", "runtime"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def violations(root: Path) -> list[str]:
    """Return one line for each include, below `root`, that its layer does not allow."""
    found = []
    for source in sorted(path for path in root.rglob("*") if path.suffix in {".h", ".cc"}):
        layer = source.relative_to(root).parts[0]
        if layer not in ALLOWED:
            found.append(f"{source}: {layer}/ is no layer; add it to ALLOWED in {Path(__file__).name}")
            continue
        for target in INCLUDE.findall(source.read_text(encoding="utf-8")):
            if not (root / target).is_file():
                found.append(f'{source}: "{target}" is not a file of {root}; include it with <> or from the root')
            elif Path(target).parts[0] not in ALLOWED[layer] | {layer}:
                found.append(f'{source}: {layer}/ must not include "{target}"')
    return found


def main() -> int:
    """Print the violations; 0 if there are none."""
    root = Path(__file__).resolve().parents[1] / "cpp"
    found = violations(root)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
