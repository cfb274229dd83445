"""Run a natural program as Python runs a program.

    njc run prog.njpy --fast            as `python prog.py --fast`
    njc run -m shop.prog --fast         as `python -m shop.prog --fast`

    sys.argv          ["prog.njpy", "--fast"]; with -m, the path of the file
    sys.path[0]       the program's directory; with -m, the working directory
    __name__          "__main__"
    tracebacks        start in prog.njpy, with its lines; frames of njc are removed

Modules that the program imports may be `.njpy` files too.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from njc import hook
from njc.hook import NaturalLoader
from njrt.errors import ConfigurationError

_FRAMES_BEFORE = (os.path.dirname(__file__) + os.sep, importlib.util.__file__, "<frozen importlib")
"""Prefixes of the file names in the frames above the program's."""


def run_as_main(code: CodeType, file: Path, arguments: Sequence[str]) -> BaseException | None:
    """Run compiled code as the program `file`; return its exception, without njc's frames."""
    hook.install()
    path = str(file.absolute())
    sys.argv = [str(file), *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = str(file.absolute().parent)
    return _run_in_main(code, path, {"__loader__": NaturalLoader("__main__", path)})


def run_module_as_main(name: str, arguments: Sequence[str]) -> BaseException | None:
    """Run a module, or a package's `__main__`, as the program; return its exception.

    It also returns exceptions from the import. Raises ConfigurationError if there is no such
    module.
    """
    hook.install()
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd()
    try:
        spec = _find_module_to_run(name)
        assert spec.loader is not None
        code = spec.loader.get_code(spec.name)  # type: ignore[attr-defined]
    except ConfigurationError:
        raise
    except BaseException as error:  # from a package around the module, or a syntax error in it
        return error.with_traceback(_trim_traceback(error.__traceback__))
    sys.argv = [str(spec.origin), *arguments]
    names = {"__loader__": spec.loader, "__package__": spec.parent, "__spec__": spec}
    return _run_in_main(code, str(spec.origin), names)


def _find_module_to_run(name: str) -> ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as missing:
        if not missing.name or not f"{name}.".startswith(f"{missing.name}."):
            raise  # a package around the module imports something that is missing
        spec = None
    except ValueError:  # a name such as `a..b`
        spec = None
    if spec is None:
        raise ConfigurationError(
            f"no module named `{name}`; it is searched in the working directory and on sys.path"
        )
    if spec.submodule_search_locations is not None:
        return _find_module_to_run(f"{name}.__main__")
    if not spec.has_location:
        raise ConfigurationError(f"the module `{name}` has no source to run")
    return spec


def _run_in_main(code: CodeType, path: str, names: dict[str, Any]) -> BaseException | None:
    sys.modules["__main__"] = main = ModuleType("__main__")
    vars(main).update(__file__=path, __builtins__=sys.modules["builtins"], **names)
    try:
        exec(code, vars(main))
    except BaseException as error:
        return error.with_traceback(_trim_traceback(error.__traceback__))
    return None


def show_traceback(error: BaseException) -> None:
    """Show an uncaught exception as Python does, by `sys.excepthook`."""
    sys.excepthook(type(error), error, error.__traceback__)


def _trim_traceback(trace: TracebackType | None) -> TracebackType | None:
    """Remove the frames before the program's first frame."""
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_FRAMES_BEFORE):
        trace = trace.tb_next
    return trace
