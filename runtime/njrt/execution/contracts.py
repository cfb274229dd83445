"""The asserts that follow a block, checked when the block ends: a reply that breaks one goes back to the model.

    assert plan.end > plan.start, "it ends early"

    find_breach(...)    "`plan.end > plan.start` (it ends early) must be true, and is not: plan.end = 3, plan.start = 5"

The program's own assert still runs after the block, so expressions are evaluated here only if they merely compute:
names, attributes, items and operators, builtins such as `len`, and methods of Python's own types. If an expression
calls anything else, or one of the program's properties or operators has effects, the assert is left to the program.
"""

from __future__ import annotations

import ast
import datetime
import decimal
import fractions
import math
import re
import statistics
import sys
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from types import BuiltinMethodType, CodeType, FunctionType, GeneratorType, ModuleType
from typing import Any

from njrt.execution.interruptions import is_interruption
from njrt.execution.side_effects import CONTRACT_FILE, refuse_side_effects
from njrt.execution.symbols import find_names
from njrt.private_names import mangle
from njrt.records import record
from njrt.values.introspection import find_member, is_a

Render = Callable[[str, Any], str]
"""Writes the value of an expression, redacted."""

_IMMUTABLE = (
    *(str, bytes, int, float, complex, bool, tuple, frozenset, range, type(None)),
    *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
    *(decimal.Decimal, fractions.Fraction, uuid.UUID),
)
_READING = {
    list: ["count", "index", "copy"],
    dict: ["get", "keys", "values", "items", "copy"],
    set: [
        *("issubset", "issuperset", "isdisjoint", "union", "intersection"),
        *("difference", "symmetric_difference", "copy"),
    ],
    deque: ["count", "index", "copy"],
    Counter: ["most_common", "total"],
    OrderedDict: ["keys", "values", "items", "copy"],
    defaultdict: ["copy"],
}
_TAKES_FUNCTION = (map, filter, sorted, min, max)
_MAKES_ITERATOR = (map, filter, zip, enumerate, reversed)
_COMPUTING: frozenset[Any] = frozenset(
    [
        *(abs, all, any, ascii, bin, callable, chr, divmod, enumerate, format, getattr, hasattr, hash, hex, isinstance),
        *(issubclass, len, oct, ord, pow, repr, reversed, round, sum, type, zip, slice, list, dict, set),
        *_TAKES_FUNCTION,
        *_IMMUTABLE,
        *(value for module in (math, statistics) for value in vars(module).values() if callable(value)),
        *(re.match, re.search, re.fullmatch, re.findall),
    ]
)  # fmt: skip
"""Functions that change nothing, whatever their arguments."""
_METHODS: frozenset[Any] = frozenset(
    [
        *(
            value
            for kind in (*_IMMUTABLE, re.Match, re.Pattern)
            for name in dir(kind)
            if not name.startswith("_") and callable(value := getattr(kind, name))
        ),
        *(getattr(kind, name) for kind, names in _READING.items() for name in names),
    ]
)
METHOD_NAMES = frozenset(
    name for kind in (*_IMMUTABLE, *_READING, re.Match, re.Pattern) for name in dir(kind)
)
"""Methods of Python's own types; no other methods are evaluated."""
_MAX_ITEMS = 10_000
"""Most items that are examined to explain a breach."""
_MEMBERS = "_nj_members"
MAX_VALUES = 4
"""Most values of a failed assert that the model is shown."""


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """An iterator made by an expression: unlike the program's iterators, it may be used up."""

    iterator: Iterator[Any]

    def __iter__(self) -> Iterator[Any]:
        return self.iterator

    def __getattr__(self, name: str) -> Any:
        return getattr(self.iterator, name)


class UnknownEffectError(Exception):
    """An expression calls something that may do more than compute; if given, the argument may change a value."""


@record
class Breach:
    """A failed assert."""

    condition: str
    reason: str
    """The assert's message, in parentheses."""
    state: str
    """The values in the assert."""

    def __str__(self) -> str:
        state = f": {self.state}" if self.state else ""
        return f"{self.condition}{self.reason} must be true, and is not{state}"

    @property
    def requirement(self) -> str:
        """The condition for a reply, as a sentence."""
        return f"A reply is accepted only if {self.condition}{self.reason} is true."


@dataclass(slots=True)
class Contract:
    """The asserts that follow a block, as source, and the variables they read (state: the number of breaches)."""

    texts: Sequence[str]
    lambdas: Sequence[Callable[[], Any]]
    """Lambdas with the names in their closures and globals; they are never called."""
    namespace: MutableMapping[str, Any] | None = None
    """The namespace of a class body around the block."""
    class_name: str | None = None
    breaches: int = 0
    """The number of replies in this run that have broken the contract."""

    def find_breach(self, render: Render) -> Breach | None:
        """Return the first failed assert; None if all hold or cannot be evaluated without effects."""
        for text in self.texts:
            test, message = parse_assert(text)
            try:
                for part in _split_conjunction(test):
                    if not self._read(part, bool):
                        return self._describe(text, part, message, render)
            except UnknownEffectError as error:
                if error.args:  # later asserts would see what this one changes
                    return None
            except NameError:  # in the program: no reply can fix it
                return None
            except Exception as error:
                if is_interruption(error):
                    raise
                shown = f"`{_find_source(text, part)}`"
                return Breach(shown, "", f"it raises {type(error).__name__}: {error}")
        return None

    def _evaluate(self, expression: ast.expr, given: Mapping[str, Any] = {}) -> Any:
        """Evaluate an expression with the current values of its names, and with `given` values."""
        names = find_names(ast.Module([ast.Expr(expression)], []), self.class_name)
        if self.namespace and not self.namespace.keys().isdisjoint(names.nested):
            raise UnknownEffectError  # functions in a class body cannot see its variables
        values = {**dict(self._look_up(names.read)), **given}
        return evaluate(expression, self.lambdas[0].__globals__, values, self.class_name)

    def _read(
        self, part: ast.expr, read: Callable[[Any], Any], given: Mapping[str, Any] = {}
    ) -> Any:
        """Return `read` of an expression's value; raise UnknownEffectError if that runs program code with effects."""
        return refuse_side_effects(lambda: read(self._evaluate(part, given)), UnknownEffectError)

    def _look_up(self, names: Mapping[str, ast.AST]) -> Iterator[tuple[str, Any]]:
        """Yield the names that are variables around the block, with their values, except unbound ones."""
        cells = {
            name: cell
            for each in self.lambdas
            for name, cell in zip(each.__code__.co_freevars, each.__closure__ or (), strict=True)
        }
        for name in names:
            if self.namespace is not None and name in self.namespace:
                yield name, self.namespace[name]
            elif name in cells:
                with suppress(ValueError):  # it is not bound
                    yield name, cells[name].cell_contents

    def _describe(
        self, assertion: str, test: ast.expr, message: ast.expr | None, render: Render
    ) -> Breach:
        reason = ""
        if message is not None:
            with suppress(Exception):
                reason = f" ({self._read(message, str)})"
        if (each := _find_members_test(test)) is not None:
            *shown, failing = each
            condition, target, members = (f"`{_find_source(assertion, part)}`" for part in shown)
            with suppress(Exception):
                first = self._read(shown[2], lambda found: [*islice(found, _MAX_ITEMS)])
                failed = self._read(failing, list, {_MEMBERS: first})
                wrong = f"false for {render(members, failed)}"
                return Breach(f"{condition} for each {target} in {members}", reason, wrong)
        values = [*self._list_values(assertion, test, render)][:MAX_VALUES]
        return Breach(f"`{_find_source(assertion, test)}`", reason, ", ".join(values))

    def _list_values(self, assertion: str, test: ast.expr, render: Render) -> Iterator[str]:
        """Yield `expression = value` for the parts of an assert that are not constants."""
        operands = {_find_source(assertion, operand): operand for operand in _list_operands(test)}
        for shown, operand in operands.items():
            with suppress(Exception):
                value = self._read(operand, _list_items)
                if not (callable(value) or isinstance(value, ModuleType)):
                    yield f"{shown} = {render(shown, value)}"


def _list_items(value: Any) -> Any:
    return [*islice(value, _MAX_ITEMS)] if isinstance(value, _Items) else value


def make_contract(
    texts: Sequence[str],
    variables: Callable[[], Any],
    given: Callable[[], Any] | None,
    namespace: MutableMapping[str, Any] | None,
    class_name: str | None,
) -> Contract | None:
    """Return a block's contract, if it has one; under `python -O` no assert is evaluated."""
    if not texts or sys.flags.optimize:
        return None
    lambdas = (variables,) if given is None else (variables, given)
    return Contract(texts, lambdas, namespace, class_name)


def evaluate(
    expression: ast.expr,
    global_names: dict[str, Any],
    values: Mapping[str, Any],
    class_name: str | None = None,
) -> Any:
    """Evaluate an expression with its variables' values; raise UnknownEffectError if it may do more than compute."""
    for value in values.values():
        _refuse_iterators(value)
    code = _compile(ast.unparse(expression), tuple(values), class_name)
    made: dict[str, Any] = {}
    exec(code, global_names, made)
    function = vars(made["Contract"])["evaluate"] if class_name else made["evaluate"]
    return function(**values, **_GUARDS)


@lru_cache(maxsize=256)
def parse_assert(text: str) -> tuple[ast.expr, ast.expr | None]:
    """Return the test and the message of an assert, given without the keyword."""
    statement = ast.parse(f"assert {text}").body[0]
    assert isinstance(statement, ast.Assert)
    return statement.test, statement.msg


def _find_source(assertion: str, part: ast.expr) -> str:
    """Return a part of an assert as its author wrote it."""
    found = ast.get_source_segment(f"assert {assertion}", part) if hasattr(part, "lineno") else None
    return " ".join((found or ast.unparse(part)).split("\n"))


def _split_conjunction(test: ast.expr) -> list[ast.expr]:
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _find_members_test(test: ast.expr) -> tuple[ast.expr, ast.expr, ast.expr, ast.expr] | None:
    """Return the three parts of `all(condition for target in members)`, and an expression for the failing members."""
    match test:
        case ast.Call(func=ast.Name("all"), args=[ast.GeneratorExp(elt=each, generators=[loop])]):
            failing = ast.UnaryOp(ast.Not(), each)
            target = ast.parse(ast.unparse(loop.target), mode="eval").body
            members = ast.Name(_MEMBERS, ast.Load())
            found = ast.comprehension(loop.target, members, [*loop.ifs, failing], 0)
            return each, loop.target, loop.iter, ast.ListComp(target, [found])
    return None


def _list_operands(test: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions with values that explain the result of a test."""
    match test:
        case ast.Compare(left=left, comparators=comparators):
            yield from filter(_names_something, (left, *comparators))
        case ast.BoolOp(values=values):
            for value in values:
                yield from _list_operands(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _list_operands(operand)
        case ast.Call(func=function, args=args):
            if isinstance(function, ast.Attribute):
                yield function.value
            for value in args:
                if isinstance(value, ast.GeneratorExp):
                    yield value.generators[0].iter
                elif _names_something(value):
                    yield value
        case ast.Name() | ast.Attribute() | ast.Subscript():
            yield test
        case ast.BinOp(left=left, right=right):
            yield from filter(_names_something, (left, right))
        case ast.IfExp(test=condition, body=body, orelse=other):
            for each in (condition, body, other):
                yield from _list_operands(each)
        case _:
            yield from (node for node in ast.walk(test) if isinstance(node, ast.Name))


def _names_something(expression: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) for node in ast.walk(expression))


@lru_cache(maxsize=256)
def _compile(text: str, names: tuple[str, ...], class_name: str | None) -> CodeType:
    """Compile an expression as a function of its names and the guards."""
    expression = _CallGuard(class_name).visit(ast.parse(text, mode="eval").body)
    parameters = [ast.arg(name) for name in (*names, *_GUARDS)]
    function = ast.Lambda(ast.arguments([], [], None, parameters, [None] * len(parameters), None, []), expression)  # fmt: skip
    tree: Any = ast.Module([ast.Assign([ast.Name("evaluate", ast.Store())], function)], [])
    if class_name is not None:  # for private names
        inside, tree = tree.body, ast.parse(f"class {class_name}: ...\nContract = {class_name}")
        tree.body[0].body = inside
    return compile(ast.fix_missing_locations(tree), CONTRACT_FILE, "exec")


@dataclass
class _CallGuard(ast.NodeTransformer):
    """Passes each call in an expression, and each possible iterator, to a function that refuses effects."""

    class_name: str | None

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if isinstance(function, ast.Attribute):
            name = ast.Constant(mangle(function.attr, self.class_name))
            guard, head = ".method", [function.value, name]
        else:
            guard, head = ".call", [function]
        call = ast.Call(ast.Name(guard, ast.Load()), [*head, *node.args], node.keywords)
        return self.generic_visit(call)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        return ast.Call(ast.Name(".lambda", ast.Load()), [node], [])

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return _guard_value(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        return ast.Call(ast.Name(".item", ast.Load()), [node.value, node.slice], [])

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        self.generic_visit(node)
        parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
        return ast.Call(ast.Name(".slice", ast.Load()), parts, [])

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        self.generic_visit(node)
        node.value = _guard_value(node.value)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.iter = _guard_value(node.iter, ".items")
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        node.comparators = [
            _guard_value(operand) if isinstance(operator, ast.In | ast.NotIn) else operand
            for operator, operand in zip(node.ops, node.comparators, strict=True)
        ]
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        raise UnknownEffectError


def _guard_value(node: ast.expr, guard: str = ".value") -> ast.expr:
    return ast.Call(ast.Name(guard, ast.Load()), [node], [])


def _refuse_iterator(value: Any) -> Any:
    """Return a value; refuse an iterator of the program, because looking at its items consumes them."""
    if find_member(type(value), "__next__"):
        raise UnknownEffectError
    return value


def _get_item(owner: Any, key: Any) -> Any:
    """Return an item; refuse a missing key, which a `defaultdict` would add."""
    if isinstance(owner, defaultdict) and key not in owner:
        raise UnknownEffectError(key)
    return _refuse_iterator(owner[key])


def _refuse_iterators(value: Any) -> Any:
    """Return a value; refuse an iterator, or one of Python's containers that holds an iterator."""
    for kind in (list, tuple, set, dict, deque):
        if is_a(value, kind):  # without calling the program's methods
            items = dict.values(value) if kind is dict else kind.__iter__(value)
            kinds = {id(each): each for each in map(type, items)}
            if any(find_member(each, "__next__") for each in kinds.values()):
                raise UnknownEffectError
    return _refuse_iterator(value)


@record
class _OwnFunction:
    """A lambda in the expression itself."""

    function: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


def _call(function: Any, /, *args: Any, **named: Any) -> Any:
    if not (type(function) is _OwnFunction or _is_known(function, _COMPUTING)):
        raise _make_unknown_effect(function, args)
    if function is type and len(args) != 1:
        raise UnknownEffectError
    if function in _TAKES_FUNCTION:
        functions = [named.get("key"), *(args[:1] if function in (map, filter) else ())]
        if not all(map(_is_harmless_function, functions)):
            raise UnknownEffectError
    refuse = _refuse_iterators if function in _TAKES_FUNCTION else _refuse_iterator
    for value in args:
        if not (isinstance(value, GeneratorType) and value.gi_code.co_filename == CONTRACT_FILE):
            refuse(value)
    args = tuple([value.iterator if type(value) is _Items else value for value in args])
    result = function(*args, **named)
    return _Items(result) if function in _MAKES_ITERATOR else _refuse_iterator(result)


def _call_method(owner: Any, name: str, /, *args: Any, **named: Any) -> Any:
    if isinstance(owner, ModuleType):
        return _call(getattr(owner, name), *args, **named)
    found = getattr(owner if isinstance(owner, type) else type(owner), name, None)
    if not _is_known(found, _METHODS) and (found is not None or type(owner) not in _IMMUTABLE):
        raise _make_unknown_effect(found, (owner, *args))
    return _refuse_iterator(getattr(owner, name)(*args, **named))


def _make_unknown_effect(function: Any, values: Sequence[Any]) -> UnknownEffectError:
    """Return the refusal of a call; its argument is the function if this is Python's own and may change a value."""
    may_change = any(isinstance(value, tuple(_READING)) for value in values)
    return UnknownEffectError(*[function] * (may_change and not isinstance(function, FunctionType)))


def is_computing(function: Any) -> bool:
    """Return whether a function only computes, whatever its arguments."""
    return _is_known(function, _COMPUTING)


def _is_harmless_function(function: Any) -> bool:
    is_own = function is None or type(function) is _OwnFunction
    if isinstance(function, BuiltinMethodType):  # such as `totals.get`
        function = getattr(type(function.__self__), function.__name__, function)
    return is_own or _is_known(function, _COMPUTING) or _is_known(function, _METHODS)


def _is_known(function: Any, known: frozenset[Any]) -> bool:
    with suppress(TypeError):  # it has no hash
        return function in known
    return False


_GUARDS: Mapping[str, Callable[..., Any]] = {
    ".call": _call,
    ".method": _call_method,
    ".lambda": _OwnFunction,
    ".value": _refuse_iterator,
    ".items": _refuse_iterators,
    ".item": _get_item,
    ".slice": slice,
}
"""The functions for the calls, lambdas and reads in a compiled expression, by parameter name."""
