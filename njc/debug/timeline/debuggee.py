"""A controlled process: `python -m njc.debug.timeline.debuggee`, started by a `RunController`.

    {"command": "start", "program": "mail.njpy", "arguments": [], ...}        the first message
    {"ended": 0}                                                              the last one

The program runs as with `njc run`, but blocks have no time limit, so that the user can take time to
think.
"""

from __future__ import annotations

import atexit
import os
import sys
import warnings
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

from njc.debug.timeline.agent import Agent
from njc.debug.timeline.channel import open_channel
from njc.debug.timeline.standard_streams import replace_streams
from njc.project.build import NaturalSyntaxError
from njc.project.config import find_project
from njc.project.report import format_findings
from njc.project.units import SUFFIX
from njc.run import run_as_main, show_traceback
from njc.static.load import load_code
from njrt.block.session.layered_model import find_recorder
from njrt.block.session.settings import NO_SETTINGS, GivenSettings, configure_layer
from njrt.block.session.state_observer import watch_scopes
from njrt.errors import NaturalError, PolicyWarning
from njrt.execution.tracebacks import format_error
from njrt.log.listeners import add_listener

_MAX_SECONDS = 365 * 86_400.0


def main() -> None:
    """Run the program that the debugger names."""
    channel = open_channel(os.environ, lambda: os._exit(1))
    start = channel.receive()
    for name, value in start["environment"].items():
        os.environ[name] = value
    agent = Agent(channel, partial(find_recorder, NO_SETTINGS, os.environ))
    agent.set_breakpoints(start)
    agent.go(start)
    atexit.register(agent.finish)  # registered first, so called last
    agent.follow_forks()
    replace_streams(agent.write_output)
    watch_scopes(agent.variables.watch)
    add_listener(agent)
    program = Path(start["program"])
    try:
        code = load_program(program)
    except (OSError, SyntaxError, NaturalError) as error:
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, NaturalSyntaxError):
            text = format_findings(error.findings, "text")
        agent.ending = 1, text
        sys.exit(1)
    options: dict[str, Any] = {"max_seconds": _MAX_SECONDS, **start["options"]}
    given = GivenSettings(intercept=agent.intercept, options=options)
    configure_layer("tool", given)  # the threads of the program too
    # Each step back would start a process that warns.
    warnings.simplefilter("ignore", PolicyWarning)
    raised = run_as_main(code, program, start["arguments"])
    agent.ending = report_ending(raised)
    sys.exit(agent.ending[0])


def load_program(file: Path) -> CodeType:
    """Return the code of a program; a `.njpy` file is compiled in memory."""
    data = file.read_bytes()
    if file.suffix == SUFFIX:
        return load_code(file, data, find_project(file, os.environ))[0]
    return compile(data, str(file), "exec", dont_inherit=True)


def report_ending(error: BaseException | None) -> tuple[int, str]:
    """Print an uncaught error; return the exit code, and the error on one line."""
    match error:
        case None:
            return 0, ""
        case SystemExit(code=code):
            if code is not None and not isinstance(code, int):
                print(code, file=sys.stderr)
            return (code or 0, "") if isinstance(code, int | None) else (1, str(code))
        case KeyboardInterrupt():
            return 130, "KeyboardInterrupt"
        case NaturalError():
            print(f"error: {error}", file=sys.stderr)
            return error.exit_code, f"{type(error).__name__}: {error}"
        case _:
            show_traceback(error)
            return 1, format_error(error)


if __name__ == "__main__":
    main()
