"""njc: the ahead-of-time compiler for natural code."""

from typing import Any

__version__ = "0.2.0"


def load_ipython_extension(shell: Any) -> None:
    """Do what `%load_ext njc` asks for: natural code in the cells of this shell."""
    # Not an `import`: the notebook stands on everything else of this package.
    from importlib import import_module

    import_module("njc.notebook.extension").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Do what `%unload_ext njc` asks for."""
    from importlib import import_module

    import_module("njc.notebook.extension").unload(shell)
