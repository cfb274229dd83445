"""njc: the ahead-of-time compiler for natural code."""

from importlib import import_module
from typing import Any

__version__ = "0.3.0"


def load_ipython_extension(shell: Any) -> None:
    """Support natural code in a shell's cells; called by `%load_ext njc`."""
    # Not imported at the top: the notebook extension imports the rest of this package.
    import_module("njc.editors.notebook.extension").load(shell)
