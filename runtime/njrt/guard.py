"""What `policy="guarded"` refuses: code that is rarely meant, found before it runs.

    import subprocess            `subprocess` cannot be imported in a block; ... can, or the program passes <subprocess>
    exit()                       `exit` is refused in a block; ...
    x.__class__.__subclasses__   `__class__` is refused in a block; use type(x)

This is a guard against accidents and not a sandbox: the code runs in the program's own process, and whoever
means harm finds a way around any check of this kind. What the prompt itself names may always be used.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType, ModuleType
from typing import Any

from njrt.bindings import Names, at_line
from njrt.effects import Refusal
from njrt.outcome import UserValue
from njrt.scope import Bound, Scope

IMPORTABLE = frozenset(
    """__future__ abc array asyncio base64 bisect calendar cmath collections colorsys contextlib copy csv
    dataclasses datetime decimal difflib enum fractions functools graphlib hashlib heapq html itertools
    json math numbers operator pprint random re secrets statistics string textwrap time types typing
    typing_extensions unicodedata uuid zoneinfo""".split()  # noqa: SIM905
)
"""Modules of the standard library that only compute."""

REFUSED_BUILTINS = frozenset(
    """__build_class__ __builtins__ __import__ __loader__ __spec__ breakpoint compile copyright credits
    eval exec exit globals help input license locals open quit vars
    GeneratorExit KeyboardInterrupt SystemExit""".split()  # noqa: SIM905
)
"""Builtins that reach past the block: files, the terminal, the interpreter, the end of the program."""

REFUSED_ATTRIBUTES = frozenset(
    """__base__ __bases__ __builtins__ __class__ __closure__ __code__ __dict__ __func__ __getattribute__
    __globals__ __import__ __init_subclass__ __loader__ __mro__ __objclass__ __reduce__ __reduce_ex__
    __self__ __spec__ __subclasses__ __subclasshook__ __traceback__ __wrapped__ __self_class__
    __thisclass__ __defaults__ __kwdefaults__ __path__ __cached__ mro
    tb_frame tb_next tb_lasti with_traceback gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin
    ag_frame ag_code ag_await f_back f_builtins f_code f_globals f_locals f_trace
    co_code co_consts co_names""".split()  # noqa: SIM905
)
"""Attributes by which one walks from any object into the interpreter."""

REFUSED_MEMBERS = {
    "asyncio": "create_subprocess_exec create_subprocess_shell open_connection open_unix_connection "
    "start_server start_unix_server run Runner new_event_loop set_event_loop",
    "string": "Formatter",
    "types": "CodeType FunctionType LambdaType MethodType ModuleType FrameType",
    "typing": "ForwardRef get_type_hints",
    "typing_extensions": "ForwardRef get_type_hints evaluate_forward_ref",
    "uuid": "uuid1 getnode",
}
"""Members of importable modules that do more than compute."""

_WAYS_OUT = {
    "__class__": "use type(x)",
    "__dict__": "use the attributes by their names",
    "exit": "end the block with done, or use the jumps that it offers",
    "quit": "end the block with done, or use the jumps that it offers",
    "SystemExit": "raise another exception",
    "KeyboardInterrupt": "raise another exception",
}
_IN_FORMAT = re.compile(rf"\{{[^{{}}]*[.\[]\s*(?P<name>{'|'.join(sorted(REFUSED_ATTRIBUTES))})\b")


def guarded(nodes: Sequence[ast.AST], names: Names, scope: Scope) -> Refusal | None:
    """The first thing among the nodes of a snippet that the guard refuses, or None."""
    for problem in problems_in(nodes, names, scope):
        return Refusal(problem)
    return None


def problems_in(nodes: Sequence[ast.AST], names: Names, scope: Scope) -> Iterator[str]:
    """Say what of this code the guard refuses; lines are those of the snippet."""
    for name, node in names.read.items():
        if name in REFUSED_BUILTINS and not scope.is_referenced(name) and name not in names.bound:
            yield _refused(name, node)
    modules = _modules(nodes, scope)
    for node in nodes:
        match node:
            case ast.Import(names=aliases):
                for alias in aliases:
                    yield from _import_problem(alias.name, node, scope)
            case ast.ImportFrom(module=module, level=level):
                if level or module is None:
                    yield f"{at_line(node)}relative imports are refused in a block"
                else:
                    yield from _import_problem(module, node, scope)
                    yield from _member_problems(module, node)
            case ast.Attribute(attr=attribute):
                if attribute in REFUSED_ATTRIBUTES:
                    yield _refused(attribute, node)
                yield from _walk_problem(node, modules)
            case ast.Constant(value=str(text)):
                yield from _text_problem(text, node)
            case ast.MatchClass(kwd_attrs=attributes):
                yield from (_refused(each, node) for each in attributes if _is_refused(each))
            case ast.Call():
                yield from _getter_problem(node)
            case _:
                continue


def _is_refused(path: str) -> bool:
    return not REFUSED_ATTRIBUTES.isdisjoint(path.split("."))


def _import_problem(module: str, node: ast.AST, scope: Scope) -> Iterator[str]:
    top = module.partition(".")[0]
    if top in IMPORTABLE or scope.is_referenced(top):
        return
    usual = "re, json, math, datetime, collections, itertools and others that only compute"
    yield (
        f"{at_line(node)}`{module}` cannot be imported in a block; {usual} can, "
        f"and so can what the prompt names: <{top}>"
    )


def _member_problems(module: str, node: ast.ImportFrom) -> Iterator[str]:
    top = module.partition(".")[0]
    if top not in IMPORTABLE:
        return
    for alias in node.names:
        try:
            member = vars(importlib.import_module(module)).get(alias.name)
        except ImportError:
            continue
        yield from _member_problem(top, alias.name, member, node)


def _member_problem(top: str, name: str, member: UserValue, node: ast.AST) -> Iterator[str]:
    """Refuse a member of an importable module that is private, listed, or a module of another kind."""
    foreign = isinstance(member, ModuleType) and member.__name__.partition(".")[0] not in IMPORTABLE
    private = name.startswith("_") and not name.endswith("__")
    if foreign or private or name in REFUSED_MEMBERS.get(top, "").split():
        yield f"{at_line(node)}`{top}.{name}` is refused in a block: it is no part of what `{top}` is for here"


def _modules(nodes: Sequence[ast.AST], scope: Scope) -> dict[str, ModuleType]:
    """The names that stand for an importable module in this snippet, by import or plain assignment."""
    modules: dict[str, ModuleType] = {}
    for name in scope.scratch:
        if isinstance(found := scope.lookup(name), Bound) and isinstance(found.value, ModuleType):
            modules[name] = found.value
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                path = alias.name if alias.asname else name
                if path.partition(".")[0] in IMPORTABLE:
                    try:
                        modules[name] = importlib.import_module(path)
                    except ImportError:
                        continue
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                member = getattr(_imported(node.module), alias.name, None)
                if isinstance(member, ModuleType):
                    modules[alias.asname or alias.name] = member
    _follow_assignments(nodes, modules)
    return modules


def _imported(module: str) -> ModuleType | None:
    if module.partition(".")[0] not in IMPORTABLE:
        return None
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def _follow_assignments(nodes: Sequence[ast.AST], modules: dict[str, ModuleType]) -> None:
    for node in nodes:
        if not isinstance(node, ast.Assign | ast.NamedExpr):
            continue
        module = _denoted(node.value, modules)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(module, ModuleType) and isinstance(target, ast.Name):
                modules[target.id] = module


def _denoted(node: ast.expr, modules: dict[str, ModuleType]) -> UserValue:
    """The module member that a plain path such as `asyncio.subprocess` means, or None."""
    match node:
        case ast.Name(id=name):
            return modules.get(name)
        case ast.Attribute(value=value, attr=attribute):
            inner = _denoted(value, modules)
            return vars(inner).get(attribute) if isinstance(inner, ModuleType) else None
        case ast.NamedExpr(value=value):
            return _denoted(value, modules)
        case _:
            return None


def _walk_problem(node: ast.Attribute, modules: dict[str, ModuleType]) -> Iterator[str]:
    module = _denoted(node.value, modules)
    if isinstance(module, ModuleType):
        top = module.__name__.partition(".")[0]
        if top in IMPORTABLE:
            yield from _member_problem(top, node.attr, vars(module).get(node.attr), node)


def _text_problem(text: str, node: ast.AST) -> Iterator[str]:
    """Format strings can walk attributes: `"{0.__class__}".format(x)`."""
    if "{" in text and (found := _IN_FORMAT.search(text)):
        yield _refused(found["name"], node)


def _getter_problem(node: ast.Call) -> Iterator[str]:
    """`operator.attrgetter` and `methodcaller` are fine with plain names that can be read here."""
    name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
    if name not in ("attrgetter", "methodcaller"):
        return
    for each in node.args if name == "attrgetter" else node.args[:1]:
        if not (isinstance(each, ast.Constant) and isinstance(each.value, str)):
            yield f"{at_line(node)}`{name}` takes only literal names in a block; use a lambda"
        elif _is_refused(each.value):
            yield _refused(each.value, node)


def _refused(name: str, node: ast.AST) -> str:
    way_out = f"; {_WAYS_OUT[name]}" if name in _WAYS_OUT else ""
    return f"{at_line(node)}`{name}` is refused in a block{way_out}"


def _checked(name: UserValue) -> UserValue:
    if isinstance(name, str) and name in REFUSED_ATTRIBUTES:
        raise AttributeError(_refused(name, ast.Pass(lineno=1)).partition(": ")[2])
    return name


def _getattr(value: UserValue, name: str, *default: UserValue) -> UserValue:
    return builtins.getattr(value, _checked(name), *default)


def _setattr(value: UserValue, name: str, new: UserValue) -> None:
    builtins.setattr(value, _checked(name), new)


def _delattr(value: UserValue, name: str) -> None:
    builtins.delattr(value, _checked(name))


CHECKED_BUILTINS: MappingProxyType[str, Any] = MappingProxyType(
    {"getattr": _getattr, "setattr": _setattr, "delattr": _delattr}
)
"""What a guarded snippet sees in place of these builtins, for names that are known only when it runs."""
