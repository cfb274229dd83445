"""Load modules of the runtime, which a process that was forked during a load refuses to do.

    load_module("njrt.block.session.run_block")       the module; in such a process, a RuntimeError

A process that is forked while another thread imports a module has the lock of that import, but
not the thread that would release it: its own import of the module would wait forever. Not detected:
imports by the program itself, also of modules of the runtime.
"""

import os
from _thread import RLock
from importlib import import_module
from types import ModuleType

_loading = RLock()
"""Held while a module is loaded."""
_broken: list[str] = []
"""Why this process cannot load modules; empty if it can."""


def load_module(path: str) -> ModuleType:
    """Import a module; raise RuntimeError in a process that was forked during another load."""
    if _broken:
        raise RuntimeError(_broken[0])
    with _loading:
        return import_module(path)


def _check_after_fork() -> None:
    if not _loading.acquire(blocking=False):
        _broken.append(
            "this process was forked while another thread loaded njrt, and cannot run blocks; "
            "use `njrt.run` once before the program starts threads and forks"
        )
    else:
        _loading.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_check_after_fork)
