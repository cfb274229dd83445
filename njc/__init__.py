"""njc: the ahead-of-time compiler for natural code."""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"


def load_ipython_extension(shell: Any) -> None:
    """Add natural code to the cells of a shell; called by `%load_ext njc`."""
    # Not an `import`: the notebook imports everything else in this package.
    import_module("njc.notebook.extension").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Remove natural code from a shell; called by `%unload_ext njc`."""
    import_module("njc.notebook.extension").unload(shell)
