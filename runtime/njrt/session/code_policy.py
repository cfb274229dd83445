"""Where the code of a block runs: the meaning of its `policy` for this block, on this system.

"auto"         a stated type is a library's class     "guarded", and a warning, once in the process
"auto"         everything else                        "contained"
None           everything                             "guarded", and a warning, once in the process
"contained"    in the body of a class                 PolicyError

The compiler and the system decide, before a model is asked, and no value does.
"""

from __future__ import annotations

import ctypes
import errno
import sys
import typing
from functools import cache

from njrt.errors import PolicyError, PolicyWarning
from njrt.execution.contained.platforms import MADE_BY_CODE, find_obstacle
from njrt.loading import load_module
from njrt.options import CodePolicy, Policy
from njrt.scope.scope import Scope
from njrt.session.session import warn_at

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2


@cache
def find_system_obstacle() -> str | None:
    """Return why this system cannot contain code, or None."""
    return find_obstacle() or (
        None if _has_filters() else "this kernel has no filters of system calls (seccomp)"
    )


def _has_filters() -> bool:
    """Ask the kernel for filters: only one that has them misses the filter that is not given."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, 0, 0, 0) != 0 and (
        ctypes.get_errno() == errno.EFAULT
    )


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
    if policy is None:
        if not _warned and sys.platform != "emscripten":  # a browser contains the whole program
            warn_of_guarded_code(NOT_SET, place)
        return "guarded"
    if policy == "guarded" or policy == "open":
        return policy
    for name, kind in scope.list_local_types():
        if (typing.get_origin(kind) or kind) in MADE_BY_CODE:
            raise PolicyError(
                f"the type of an output is what `{name}` holds, a type of functions, classes or"
                " iterators: "
                f'with policy="{policy}", write it in the prompt'
            )
    problem = find_system_obstacle() or find_block_obstacle(scope)
    if policy == "auto" and (problem := problem or reason):
        warn_of_guarded_code(FALLBACK.format(problem), place)
        return "guarded"
    if problem:
        raise PolicyError(f'policy="contained" is not possible here: {problem}')
    load_module("njrt.execution.contained.execute")
    load_module("njrt.execution.contained.process").start_server()
    return "contained"


_warned: list[str] = []
"""The place that this process has warned about."""


FALLBACK = (
    'policy="auto": the code of this block runs guarded, in the program: {}; write '
    'policy="guarded" if that is meant (shown once; `njc show` lists all such blocks)'
)
NOT_SET = (
    'a model\'s code runs in the program, behind a guard against accidents; set policy="auto" to '
    'contain it where possible, or policy="guarded" if that is meant (shown once)'
)


def warn_of_guarded_code(text: str, place: str) -> None:
    """Warn, once in this process, that the code of a block runs in the program."""
    if not _warned:
        _warned.append(place)
        warn_at(place, text, PolicyWarning)
