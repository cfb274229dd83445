"""The process of the code interpreter: `python -m spsbench.trials.interpreter_process`.

    {"code": "print('so')\\n6 * 7"}   ──>   {"text": "so\\n42\\n", "failed": false}

The code cannot import the modules of the project, and has neither the environment nor the input of the trial.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import sys
from typing import Any

from njc.worker import open_channel


def main() -> None:
    """Run pieces of code, one after the other, on the same variables."""
    channel = open_channel()
    hide_project()
    names: dict[str, Any] = {"__name__": "__main__"}
    while True:
        channel.send(run_code(channel.receive()["code"], names))


def hide_project() -> None:
    """Leave only the modules of an isolated interpreter, and an empty environment."""
    folder = os.environ.pop("PYTHONPATH")
    sys.path[:] = [path for path in sys.path if path not in ("", os.getcwd(), folder)]
    for name in [name for name in sys.modules if name.split(".")[0] in ("njc", "njrt", "spsbench")]:
        del sys.modules[name]
    os.environ.clear()


def run_code(code: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run a piece of code; return its output, then the value of its last expression."""
    printed, failed = io.StringIO(), False
    with contextlib.redirect_stdout(printed):
        try:
            tree = ast.parse(code)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<code>", "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "<code>", "eval"), names)
                if value is not None:
                    print(repr(value))
        except BaseException as error:
            failed = True
            print(f"{type(error).__name__}: {error}")
    return {"text": printed.getvalue(), "failed": failed}


if __name__ == "__main__":
    main()
