"""Functions of the program that a block's code calls through a gate.

    @njrt.gated                              each call is shown to the interceptors, as a `Touch`
    @njrt.gated(decide="allow", at_most=3)   allowed, three times in a run of a block
    njrt.using(calls=[Mailer.send])          for contained code's calls of this very function

The rule is part of the function that is called. Calls by a block's code pass the gate, including
those made through other functions. Calls by the program itself are plain calls. With a recording
each call is made once: its result is recorded, and used when the program is run again.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
import threading
import typing
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from types import FunctionType, MethodType, coroutine
from typing import Any, Literal, ParamSpec, TypeVar, overload

from njrt.data.context import Stack, check_context, is_context_known
from njrt.data.records import record
from njrt.errors import ConfigurationError

P = ParamSpec("P")
R = TypeVar("R")

Decide = Literal["ask", "allow", "deny"]
Check = Callable[..., Any]
Find = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class CallRule:
    """The rule for the calls of a function."""

    decide: Decide = "ask"
    """`ask`: the interceptors around the block decide, and without one the call is refused."""
    at_most: int | None = None
    """How many calls one run of a block may make at most."""
    check: Check | None = None
    """Called with the same arguments; all but True refuses the call, a text as its reason."""
    find: Find | None = None
    """Called with an interrupted call's `call_key()`: its result, or None if it was not made."""
    named: bool = False
    """A block may call it only if its text names the function, as `<pay>`, or its module."""

    def __post_init__(self) -> None:
        """Raise ConfigurationError if a part of the rule is wrong."""
        decide, at_most = self.decide, self.at_most
        if decide not in typing.get_args(Decide):
            raise ConfigurationError(
                f'njrt.gated: decide must be "ask", "allow" or "deny", not {decide!r}'
            )
        if at_most is not None and (type(at_most) is not int or at_most < 0):
            raise ConfigurationError(
                f"njrt.gated: at_most must be a number of calls, not {at_most!r}"
            )
        if not (self.check is None or callable(self.check)):
            raise ConfigurationError(f"njrt.gated: check must be a function, not {self.check!r}")

    def refuse(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> str:
        """Return why `check` refuses a call, or an empty text."""
        answer = True if self.check is None else self.check(*args, **named)
        if answer is True:
            return ""
        return answer if answer and isinstance(answer, str) else f"its check returned {answer!r}"


@record
class GatedFunction:
    """A function and the rule for its calls."""

    function: Callable[..., Any]
    rule: CallRule

    @property
    def name(self) -> str:
        """The module and the qualified name of the function."""
        function = self.function
        module = getattr(function, "__module__", None) or ""
        qualified = getattr(function, "__qualname__", None) or type(function).__qualname__
        return f"{module}.{qualified}".lstrip(".")

    def bind(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments by parameter, or by position if they do not fit the parameters."""
        try:
            return dict(inspect.signature(self.function).bind(*args, **named).arguments)
        except (TypeError, ValueError):
            return {str(number): value for number, value in enumerate(args)} | dict(named)


CallRules = Mapping[Callable[..., Any], CallRule]
"""Rules of `njrt.using(calls=...)`, by function."""


def read_call_rules(calls: Any) -> CallRules:
    """Return the rules of `njrt.using(calls=...)`: functions, or a mapping from functions to rules.

    Raises ConfigurationError for anything else, and for special methods.
    """
    if calls is None:
        return {}
    if isinstance(calls, Mapping):
        rules = list(calls.items())
    else:
        rules = [(each, CallRule()) for each in (calls if isinstance(calls, Iterable) else [calls])]
    for function, rule in rules:
        if isinstance(function, type) or not callable(function) or not isinstance(rule, CallRule):
            raise ConfigurationError(
                "njrt.using: calls is a list of functions, or a dict from functions to "
                f"njrt.CallRule(...), not {function!r}"
                + (f": {rule!r}" if isinstance(calls, Mapping) else "")
            )
        name = str(getattr(function, "__name__", ""))
        if name[:2] == name[-2:] == "__":
            raise ConfigurationError(
                f"njrt.using: Python itself calls the special method {name}, so a rule in calls "
                "would not hold; write @njrt.gated above the method"
            )
    return {find_plain_function(function): rule for function, rule in rules}


def find_plain_function(function: Any) -> Any:
    """Return the function of a bound method; return other objects unchanged."""
    return function.__func__ if type(function) is MethodType else function


def nest_rules(outer: CallRules, inner: CallRules) -> CallRules:
    """Return all rules; raise ConfigurationError for two different ones for a function."""
    for function, rule in inner.items():
        if outer.get(function, rule) != rule:
            name = getattr(function, "__qualname__", function)
            raise ConfigurationError(
                f"njrt.using: calls has another rule for {name} than the one around it; a function"
                " has one rule, with all restrictions"
            )
    return {**outer, **inner}


class _OpenGate:
    """The `RunGate` of a block, or None for no gate, in its `with` (state: whether it is open)."""

    def __init__(self, gate: Any) -> None:
        self.gate, self.number, self.is_open = gate, next(_numbers), True


_numbers = itertools.count()
_gates: Stack[_OpenGate] = Stack("njrt.execution.gates")
_thread = threading.local()
_key: ContextVar[str] = ContextVar("njrt.execution.gates", default="")
_is_used = False


def is_used() -> bool:
    """Return whether the program has gated functions."""
    return _is_used


@contextmanager
def open_gate(gate: Any, is_async: bool = False) -> Iterator[None]:
    """Make the calls inside pass a gate, or no gate.

    Code that does not await also takes it into contexts of its own, by `Context.run`.
    """
    opened = _OpenGate(gate)
    with _gates.opened(opened):
        if not is_async:
            _thread.opened = [*_list_open(), opened]
        try:
            yield
        finally:
            opened.is_open = False
            _thread.opened = _list_open()


@coroutine
def hold_gate(awaited: Coroutine[Any, Any, R]) -> Generator[Any, Any, R]:
    """Await a coroutine, whose steps take the open gate into contexts of their own."""
    opened, step = _find_opened(), functools.partial(awaited.send, None)
    while True:
        around = _list_open()
        _thread.opened = [*around, *filter(None, [opened])]
        try:
            waited = step()
        except StopIteration as end:
            result: R = end.value
            return result
        finally:
            _thread.opened = around
            del step  # which may hold an exception
        try:
            step = functools.partial(awaited.send, (yield waited))
        except BaseException as error:
            step = functools.partial(awaited.throw, error)


def _list_open() -> list[_OpenGate]:
    return [opened for opened in getattr(_thread, "opened", ()) if opened.is_open]


def _find_opened() -> _OpenGate | None:
    """Return what was opened last around this point, in this context or by this thread."""
    found = [*_gates.here()[-1:], *_list_open()[-1:]]
    return max(found, key=lambda opened: opened.number, default=None)


def find_gate() -> Any:
    """Return the gate of the innermost block run around this point, if its code runs here."""
    opened = _find_opened()
    return opened.gate if opened else None


@contextmanager
def keyed(key: str, is_async: bool = False) -> Iterator[None]:
    """Make a call outside the gate, with its key."""
    token = _key.set(key)
    try:
        with open_gate(None, is_async):
            yield
    finally:
        _key.reset(token)


def call_key() -> str:
    """Return, in a gated function, a text that differs for each call and is the same after a crash.

    Elsewhere it is empty. Pass it on as the idempotency key, or keep it beside the effect, so that
    `find` can look the call up.
    """
    return _key.get()


@overload
def gated(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def gated(
    *,
    decide: Decide = "ask",
    at_most: int | None = None,
    check: Check | None = None,
    find: Find | None = None,
    named: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def gated(function: Any = None, /, **rule: Any) -> Any:
    """Make the calls that blocks' code makes of a function, sync or async, pass a gate.

    The arguments make a `CallRule`; ConfigurationError is raised if one is wrong. A refused call
    raises `PermissionError` in the code, which may continue.
    """
    made = functools.partial(_gate, CallRule(**rule))
    return made if function is None else made(function)


def _gate(rule: CallRule, function: Callable[..., Any]) -> Callable[..., Any]:
    global _is_used
    if isinstance(function, staticmethod | classmethod):
        return type(function)(_gate(rule, function.__func__))
    if isinstance(function, type) or not callable(function):
        raise ConfigurationError(f"njrt.gated is for functions, not for {function!r}")
    _is_used = True
    return wrap_gated(GatedFunction(function, rule))


def wrap_gated(gated_function: GatedFunction, is_lent: bool = False) -> Callable[..., Any]:
    """Return a function that makes calls pass the gate, if one is open.

    It has the function's name and signature, but no other attributes, which could lead past the
    gate. A lent function is for the code of a block: outside blocks it raises PermissionError.
    """
    function = gated_function.function

    def made(*args: Any, **named: Any) -> Any:
        opened = _find_opened()
        if opened is None:
            check_context(gated_function.name)
        if opened is None and is_lent:
            raise PermissionError(
                f"calls of {gated_function.name} end with the block that has handed it over"
            )
        if opened is None or opened.gate is None:
            return function(*args, **named)
        return opened.gate.call(gated_function, args, named)

    functools.update_wrapper(made, function, updated=())
    if inspect.iscoroutinefunction(function):
        if sys.version_info >= (3, 12):
            inspect.markcoroutinefunction(made)
        else:
            flags = made.__code__.co_flags | inspect.CO_COROUTINE
            made.__code__ = made.__code__.replace(co_flags=flags)
    vars(made)["__njrt_gated__"] = gated_function
    return made


def get_gated(function: Any) -> GatedFunction | None:
    """Return what a gated function or method is made of; None for any other object."""
    plain = find_plain_function(function)
    found = vars(plain).get("__njrt_gated__") if type(plain) is FunctionType else None
    return found if type(found) is GatedFunction else None


def get_gated_name(function: Callable[..., Any]) -> str:
    """Return a gated function's name in a `Touch`; raise ConfigurationError for other functions."""
    if (found := get_gated(function)) is None:
        raise ConfigurationError(
            f"{function!r} is not gated; write @njrt.gated above it, or use calls=True"
        )
    return found.name


class CarriedFunction:
    """A gated function as the code of a block sees it; elsewhere it is like the function.

    A call passes the block's gate wherever it is made while the code runs, and for good in threads
    that the code starts.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self._opened, self._context = function, _find_opened(), copy_context()
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **named: Any) -> Any:
        is_running = self._opened is not None and self._opened.is_open
        if _find_opened() or (is_context_known() and not is_running):
            return self._function(*args, **named)
        return self._context.copy().run(self._function, *args, **named)

    def __eq__(self, other: object) -> bool:
        return (other._function if type(other) is CarriedFunction else other) is self._function

    def __hash__(self) -> int:
        return hash(self._function)

    def __reduce__(self) -> tuple[Any, ...]:
        return get_function, (self._function,)


def get_function(function: R) -> R:
    """Return the function; a copy of a carried function is the function itself."""
    return function


def carry_gated(value: Any) -> Any:
    """Return a gated function or method as a block's code sees it; other values unchanged."""
    if get_gated(value) is None:
        return value
    if type(value) is MethodType:
        return MethodType(carry_gated(value.__func__), value.__self__)
    return CarriedFunction(value)
