"""An audit hook (PEP 578) for the effects that guarded code must not have, wherever it got the function from.

    os.system("true")            called by a snippet:                    PermissionError
    subprocess.run(["true"])     by a snippet, through library code:     PermissionError
    open("a.txt", "w")           by a snippet:                           PermissionError
    save(order)                  a function of the program that writes:  allowed
    path.read_text()             a method of an object of the program:   allowed

The other checks keep such functions out of reach; this hook stops them even if a check misses a way to them. It
inspects the stack: an effect belongs to the snippet if only library code lies between the two. If the prompt names a
module or function that has effects, nothing is refused. Not detected: effects that a function of the program, another
thread or the event loop has on behalf of the snippet; reads of environment variables.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from njrt.execution.guard.allowed import (
    DIRECT_EVENTS,
    MODULES_WITH_EFFECTS,
    PROCESS_EVENTS,
    REFUSED_ATTRIBUTES,
    REFUSED_BINDINGS,
    REFUSED_BUILTINS,
)
from njrt.execution.source_cache import SnippetFilename, is_snippet
from njrt.outcome import UserValue
from njrt.scope.scope import Scope
from njrt.values.introspection import get_module_name, is_a, is_exactly

_EVENTS = PROCESS_EVENTS | DIRECT_EVENTS
_REFUSED_STORES = REFUSED_ATTRIBUTES | REFUSED_BINDINGS

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_LIBRARY_FOLDERS = (_LIBRARY, os.path.dirname(__file__) + os.sep)
_PACKAGES = (f"{_LIBRARY}site-packages{os.sep}", f"{_LIBRARY}dist-packages{os.sep}")

_ZONES = ("/usr/share/zoneinfo/", "/usr/lib/zoneinfo/", "/etc/zoneinfo/")

_state = {"installed": False}


def allow_effects(code: CodeType, is_allowed: bool) -> None:
    """Let a snippet's code have effects, or watch the code from now on.

    The hook is installed once per process and stays, because Python cannot remove audit hooks.
    """
    filename = code.co_filename
    if is_allowed and type(filename) is SnippetFilename:
        filename.may_have_effects = True
    if not is_allowed and not _state["installed"]:
        _state["installed"] = True
        sys.addaudithook(_check_event)


def names_effects(scope: Scope) -> bool:
    """Return whether the prompt names a module or function with effects, which are then the program's choice."""
    return any(_has_effects(*named) for named in scope.list_variables(scope.names).items())


def _has_effects(name: str, value: UserValue) -> bool:
    cls = type(value)
    if is_exactly(value, str, int, float, list, dict, tuple, bool, FunctionType):
        return cls is FunctionType and _get_top(value.__module__) in MODULES_WITH_EFFECTS
    if is_a(value, ModuleType):
        return _get_top(value.__name__) in MODULES_WITH_EFFECTS | {"builtins"}
    if name in REFUSED_BUILTINS:
        return True
    if is_a(value, type):
        return _get_top(get_module_name(value)) in MODULES_WITH_EFFECTS
    if cls is type(len):
        return _get_top(value.__module__) in MODULES_WITH_EFFECTS
    return _get_top(get_module_name(cls)) in MODULES_WITH_EFFECTS


def _get_top(module: str | None) -> str:
    return module.partition(".")[0] if type(module) is str else ""


def _check_event(
    event: str,
    arguments: tuple[Any, ...],
    # Kept as defaults: replacing them in this module has no effect.
    events: Collection[str] = _EVENTS,
    get_frame: Any = sys._getframe,
) -> None:
    if (
        event in events
        and not (event.startswith("object.") and arguments[1] not in _REFUSED_STORES)
        and not (event == "open" and arguments[1] == "r" and _is_of_zones(arguments[0]))
        and _is_by_snippet(get_frame().f_back, event in PROCESS_EVENTS)
    ):
        raise PermissionError(f"`{event}` is refused in a block; what the prompt names may be used")


def _is_of_zones(path: Any) -> bool:
    """Return whether this is a file of a time zone, which `ZoneInfo` opens from C."""
    return type(path) is str and os.path.normpath(path).startswith(_ZONES)


def _is_by_snippet(frame: FrameType | None, through_library: bool) -> bool:
    """Return whether a snippet that may not have effects caused an event."""
    while frame is not None:
        filename = frame.f_code.co_filename
        if is_snippet(filename):
            return not getattr(filename, "may_have_effects", False)
        is_library = filename.startswith(_LIBRARY_FOLDERS) and not filename.startswith(_PACKAGES)
        if not through_library or not (is_library or filename.startswith("<")):
            return False
        frame = frame.f_back
    return False
