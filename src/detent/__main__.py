"""`python -m detent` is the command `detent`."""

from __future__ import annotations

import sys

from detent.cli import main

sys.exit(main())
