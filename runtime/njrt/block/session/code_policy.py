"""Where the code of a block runs: the meaning of its `policy` for this block, on this system.

"auto", None   a stated type is a library's class     "guarded", and a warning, once in the process
"auto", None   everything else                        "contained"
"contained"    in the body of a class                 PolicyError

The compiler and the system decide, before a model is asked, and no value does. What njc 0.2 has
compiled, and what a recording of it has, runs guarded as it did.
"""

from __future__ import annotations

import linecache
import re
import sys
import typing

from njrt.block.session.code_system import find_system_obstacle
from njrt.block.session.session import Session, warn_at
from njrt.data.loading import load_module
from njrt.data.options import CodePolicy, Policy
from njrt.errors import PolicyError, PolicyWarning
from njrt.execution.contained.kinds import MADE_BY_CODE
from njrt.execution.scope.scope import Scope


def find_block_obstacle(scope: Scope) -> str | None:
    """Return why the code of a block cannot be contained on any system, or None."""
    if scope.namespace is not None:
        return "code in the body of a class cannot be contained"
    if private := [path for path in scope.outputs if "._" in path]:
        return f"contained code cannot set `{private[0]}`, which has an underscore before the name"
    for name, kind in scope.types.items():
        if (typing.get_origin(kind) or kind) in MADE_BY_CODE:
            return f"`{name}` is a function, a class or an iterator, which ends with its code"
    return None


def choose_policy(policy: Policy | None, scope: Scope, reason: str, place: str) -> CodePolicy:
    """Return how code runs, and start the server of contained code.

    `reason` is the compiler's for "guarded". Raises PolicyError for "contained" if it is
    impossible.
    """
    if policy == "guarded" or policy == "open":
        return policy
    problem, is_auto = find_system_obstacle(), policy != "contained"
    if not (is_auto and (problem := problem or reason)):
        for name, kind in scope.list_local_types():
            if (typing.get_origin(kind) or kind) in MADE_BY_CODE:
                raise PolicyError(
                    f"the type of an output is what `{name}` holds, a type of functions, classes or"
                    ' iterators: write it in the prompt, or policy="guarded"'
                )
        problem = problem or find_block_obstacle(scope)
    if problem and is_auto:
        if not _warned and sys.platform != "emscripten":  # a browser contains the whole program
            _warned.append(place)
            warn_at(place, FALLBACK.format(problem), PolicyWarning)
        return "guarded"
    if problem:
        raise PolicyError(f'policy="contained" is not possible here: {problem}')
    load_module("njrt.execution.contained.execute")
    try:
        load_module("njrt.execution.contained.process").start_server()
    except OSError as error:
        raise PolicyError(f"a process for contained code cannot be started: {error}") from None
    return "contained"


_warned: list[str] = []
"""The place that this process has warned about."""


FALLBACK = (
    "the model's code for this block runs in the program, behind a guard against accidents: {}; "
    'write policy="guarded" if that is meant (shown once; `njc show` lists all such blocks)'
)
CONTAINED = (
    "the code of this block runs in a separate process, which has data and the functions that the "
    'text names; policy="guarded" runs it in the program'
)
"""The note on the error of a block whose program has not chosen that."""


def find_earlier_reason(policy: Policy | None, file: str, session: Session) -> str:
    """Return why code is not contained that ran guarded in an earlier version; "" if it did not."""
    if _OLD_FILE.match(linecache.getline(file, 1)):
        return "njc 0.2 has compiled this file; build it again"
    found = session.record.recorder.policy if session.record else None
    if session.record and (found == "guarded" or (found == "" and policy is None)):
        return f"it did when {session.record.recorder.place.name} was recorded"
    return ""


_OLD_FILE = re.compile(r"# compiled by njc 0\.[12]\.")
