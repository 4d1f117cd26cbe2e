"""Makes ``golden.py`` and the servers of tests/tools importable: ``--import-mode=importlib`` leaves ``sys.path`` alone.

A parity module writes ``from golden import golden_folder, load, unknown_files`` (see golden.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

for folder in (Path(__file__).parent, Path(__file__).parent.parent / "tools"):
    sys.path.insert(0, str(folder))
