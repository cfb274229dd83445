"""Code of the program that an expression runs without calling it by name: properties, operators, special methods.

    refuse_side_effects(lambda: plan.total > 3, UnknownEffectError)      raised if the property `total` assigns to an attribute

Python reports the start of each function, and its text shows whether it changes more than its own variables. Not detected:
changes by way of other names for an object, by functions of C, by code without a text, by `__del__`, and under a profiler.
"""

from __future__ import annotations

import ast
import gc
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from types import CodeType, FrameType, ModuleType
from typing import Any, TypeVar

from njrt.execution.guard.allowed import split_words

T = TypeVar("T")
MUTATING = frozenset(
    [
        *("append", "appendleft", "extend", "insert", "pop", "popleft", "popitem", "remove", "discard"),
        *("clear", "sort", "reverse", "rotate", "update", "setdefault", "add"),
    ]
)  # fmt: skip
"""Methods that change their own object."""
_PACKAGES = split_words(
    """_ctypes _io _posixsubprocess _socket _sqlite3 asyncio ctypes ftplib gc http importlib io logging
    marshal multiprocessing nt os pickle posix pty shutil signal smtplib socket sqlite3 ssl subprocess
    sys tempfile urllib warnings"""
)
_EFFECTS = frozenset(["print", "open", "input", "exec", "eval", "setattr", "delattr", "__import__"])
CONTRACT_FILE = "<contract>"
"""The file name of contract code."""
_MAKING = ("__init__", "__post_init__", "__new__", "__setattr__")
"""Methods that change an object which they are making."""
_CACHING = cached_property.__get__.__code__
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class _SideEffectError(BaseException):
    """A function of the program has effects; not caught by `except Exception` in the program."""


def refuse_side_effects(action: Callable[[], T], refusal: type[Exception]) -> T:
    """Return an action's result; raise `refusal` before a function that may change more than its own variables runs.

    This is not a context manager because an interruption at the start of `__exit__` would leave the program watched.
    """
    if sys.getprofile() is not None:  # a profiler is measuring the program
        return action()
    collects, cached = gc.isenabled(), list[tuple[Any, str]]()
    try:
        gc.disable()  # it would run code of objects that the action does not use
        sys.setprofile(partial(_refuse, cached))
        return action()
    except _SideEffectError as error:
        raise refusal(*error.args) from None
    finally:
        try:
            sys.setprofile(None)
        finally:
            if collects:
                gc.enable()
            for owner, name in cached:  # the program may change what the property reads
                vars(owner).pop(name, None)


def _refuse(cached: list[tuple[Any, str]], frame: FrameType, event: str, argument: Any) -> None:
    """Raise at the start of a function with effects; note what `cached_property` stores. Frequent events first."""
    if event == "c_call":
        if getattr(argument, "__module__", None) not in _PACKAGES:
            return
    elif event != "call" or frame.f_code.co_filename == CONTRACT_FILE:
        return
    elif frame.f_code is _CACHING and frame.f_locals["instance"] is not None:
        cached.append((frame.f_locals["instance"], frame.f_locals["self"].attrname))
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    is_library = package in sys.stdlib_module_names or package == "njrt"
    if event == "call" and package not in _PACKAGES:
        has_effects = not (is_library or is_harmless(frame.f_code, frame.f_globals))
    else:
        has_effects = event == "call" or not is_library
    if has_effects and not _is_in_finalizer(frame):
        raise _SideEffectError(frame.f_code.co_name)


def _is_in_finalizer(frame: FrameType | None) -> bool:
    """Return whether an unused object is being deleted, where Python must not be stopped."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


def is_harmless(code: CodeType, names: Mapping[str, Any]) -> bool:
    """Return whether a function's source, with these global names, changes only objects that it makes."""
    changed = _find_changed(code.co_filename, code.co_firstlineno, code.co_name)
    return all(isinstance(names.get(name), ModuleType) for name in changed)


@lru_cache(maxsize=1024)
def _find_changed(file: str, line: int, name: str) -> frozenset[str]:
    """Return the names of objects that a function changes but did not make, "" among them for other effects."""
    import inspect  # imported late: programs without such functions start faster
    from tokenize import TokenError

    lines = linecache.getlines(file)[line - 1 :]
    try:
        text = "".join(inspect.getblock(lines))
        nodes = [*ast.walk(ast.parse(f"if True:\n{text}" if text[:1].isspace() else text))]
    except (SyntaxError, ValueError, RecursionError, MemoryError, TokenError):
        return frozenset()  # part of a statement, with a lambda
    functions = [each for each in nodes if isinstance(each, _Function)]
    if name != "<lambda>":
        functions = [each for each in functions[:1] if getattr(each, "name", "") == name]
    return frozenset().union(*map(_list_changed, functions))


def _list_changed(function: _Function) -> Iterator[str]:
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    nodes = list(_walk_own(function))
    stored = {it.id for it in nodes if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Store)}
    declared = {n for it in nodes if isinstance(it, ast.Global | ast.Nonlocal) for n in it.names}
    if stored & declared:
        yield ""
    made = stored - declared - {each.arg for each in parameters}
    if getattr(function, "name", "") in _MAKING:
        made |= {each.arg for each in parameters[:1]}
    for node in nodes:
        changed: ast.expr | None
        match node:
            case ast.Call(func=ast.Name("next"), args=[changed, *_]):
                pass
            case ast.Call(func=ast.Attribute(value=changed, attr="write" | "send" | "throw")):
                pass
            case ast.Call(func=ast.Name(name)) if name in _EFFECTS:
                yield ""
                continue
            case _:
                changed = find_changed(node)
        root = find_root(changed)
        if isinstance(root, ast.Name) and root.id not in made:  # part of a call's result may be new
            yield root.id


def _walk_own(function: _Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without the bodies of nested functions and classes."""
    waiting: list[ast.AST] = (
        [*function.body] if isinstance(function.body, list) else [function.body]
    )
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _Function | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def find_changed(node: ast.AST) -> ast.expr | None:
    """Return the expression of the object that a node changes by assigning to a part of it or calling its method."""
    match node:
        case ast.Attribute(value=changed, ctx=ast.Store() | ast.Del()):
            return changed
        case ast.Subscript(value=changed, ctx=ast.Store() | ast.Del()):
            return changed
        case ast.Call(func=ast.Attribute(value=changed, attr=name)) if name in MUTATING:
            return changed
    return None


def find_root(node: ast.expr | None) -> ast.expr | None:
    """Return the expression at the root of an attribute or item; any other expression unchanged."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node
