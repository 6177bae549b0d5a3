"""The command line: `detent COMMAND ...`.

Standard output has the result and nothing else; reports, progress and errors go to standard error. A mistake of the
user is one paragraph and exit status 2, never a traceback; a traceback is a bug.

    0         done; for `check`, the text is one of the rule
    1         for `check`, the text is not one of the rule
    2         the command is wrong: a bad pattern, a missing file, too few --max-tokens for any text
    130, 141  interrupted (Ctrl-C), or the reader of the output closed the pipe

The parser is argparse: the command line adds no dependency.
"""

from __future__ import annotations

from detent.cli.main import main

__all__ = ["main"]
