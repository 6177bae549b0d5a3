"""Write src/detent/__init__.pyi: the public names as imports that type checkers and editors follow.

Run it after a change of the list in src/detent/__init__.py; with --check it fails if the stub has drifted.

    python tools/write_package_stub.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import detent

TARGET = Path(detent.__file__).with_suffix(".pyi")
HEAD = "# Written by tools/write_package_stub.py from the list in __init__.py.\n"


def stub() -> str:
    """Return the text of the stub."""
    lines = [f"from detent import {module} as {module}\n" for module in vars(detent)["_MODULES"]]
    for module, names in sorted(vars(detent)["_NAMES"].items()):
        lines += [f"from detent.{module} import {name} as {name}\n" for name in names.split()]
    return HEAD + "".join(lines) + "\n__version__: str\n__all__: list[str]\n"


def main() -> int:
    """Write or check; 1 if the stub has drifted."""
    if "--check" not in sys.argv:
        TARGET.write_text(stub(), encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != stub():
        sys.stderr.write(f"{TARGET} has drifted: run just stubs\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
