"""Running a natural program as Python runs a program: `njc run prog.njpy --fast`.

    sys.argv          ["prog.njpy", "--fast"]
    sys.path[0]       the program's directory
    __name__          "__main__"
    tracebacks        begin in prog.njpy, with its lines; frames of njc are removed

Modules that the program imports may be `.njpy` files too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType, TracebackType

from njc import hook
from njc.hook import NaturalLoader


def run_as_main(code: CodeType, file: Path, arguments: Sequence[str]) -> BaseException | None:
    """Run compiled code as the program `file`; return what it raised, without frames of njc."""
    hook.install()
    path = str(file.absolute())
    sys.argv = [str(file), *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = str(file.absolute().parent)
    sys.modules["__main__"] = main = _make_main_module(path)
    try:
        exec(code, vars(main))
    except BaseException as error:
        return error.with_traceback(_trim_traceback(error.__traceback__, path))
    return None


def show_traceback(error: BaseException) -> None:
    """Show an uncaught exception as Python does, by `sys.excepthook`."""
    sys.excepthook(type(error), error, error.__traceback__)


def _make_main_module(path: str) -> ModuleType:
    main = ModuleType("__main__")
    loader = NaturalLoader("__main__", path)
    vars(main).update(__file__=path, __loader__=loader, __builtins__=__builtins__)
    return main


def _trim_traceback(trace: TracebackType | None, path: str) -> TracebackType | None:
    """Remove the frames before the program's first one."""
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    return trace
