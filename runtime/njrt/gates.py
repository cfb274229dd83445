"""Functions of the program that a block's code calls through a gate.

    @njrt.gated                              each call is shown to the interceptors, as a `Touch`, before it is made
    @njrt.gated(decide="allow", at_most=3)   allowed, three times in a run of a block
    njrt.using(calls=[Mailer.send])          the same for contained code's calls of functions without the decorator

Calls by a block's code pass the gate, including those made through other functions and in threads that these start.
Calls by the program itself are plain calls. With a recording each call is made once: its result is recorded, and used
when the program is run again.
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any, Literal, ParamSpec, TypeVar, overload
from weakref import WeakKeyDictionary

from njrt.context import Stack, check_context, is_context_known
from njrt.errors import ConfigurationError, NaturalError
from njrt.records import record

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Decide = Literal["ask", "allow", "deny"]
Check = Callable[..., Any]
Find = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class CallRule:
    """The rule for the calls of a function."""

    decide: Decide = "ask"
    """`ask`: the interceptors around the block decide, without one the call is refused; `allow`, `deny`."""
    at_most: int | None = None
    """How many calls one run of a block may make at most."""
    check: Check | None = None
    """Called with the same arguments; a false result refuses the call, as does a text, which gives the reason."""
    find: Find | None = None
    """Called with the `call_key()` of a call that a crash interrupted: its result, or None if it was not made."""
    named: bool = False
    """A block may call it only if its text names the function, as `<pay>` or `<shop.pay>`, or its module."""

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
        if inspect.iscoroutinefunction(self.check):
            raise ConfigurationError("njrt.gated: check must not be an async function")


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
    """Return the rules of `njrt.using(calls=...)`, given as functions, or as a mapping from functions to rules.

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
                "njrt.using: calls is a list of functions, or a dict from functions to njrt.CallRule(...), "
                f"not {function!r}" + (f": {rule!r}" if isinstance(calls, Mapping) else "")
            )
    plain = {find_plain_function(function): rule for function, rule in rules}
    for function in plain:
        name = getattr(function, "__name__", "")
        if isinstance(name, str) and name[:2] == name[-2:] == "__":
            raise ConfigurationError(
                f"njrt.using: Python itself calls the special method {name}, so a rule in calls would not hold; "
                "write @njrt.gated above the method"
            )
    return plain


def find_plain_function(function: Any) -> Any:
    """Return a bound method's function as its class defines it; return other objects unchanged."""
    if type(function) is MethodType:
        return function.__func__
    if type(function) is BuiltinMethodType and not isinstance(function.__self__, ModuleType):
        return getattr(type(function.__self__), function.__name__, function)
    return function


_WRAPPED = (FunctionType, type(functools.cache(len)))


def list_inner_functions(function: Any) -> list[Any]:
    """Return the functions that a function wraps or dispatches to, and that its attributes expose.

    Examples are `raw_function` of pydantic's `validate_call`, and the members of a `functools.singledispatch`.
    """
    found: list[Any] = []
    waiting = [function]
    while waiting:
        held = getattr(waiting.pop(), "__dict__", {})
        members = held.get("registry")
        given = [*members.values()] if isinstance(members, Mapping) else []
        for inner in (held.get("__wrapped__"), held.get("raw_function"), *given):
            if isinstance(inner, _WRAPPED) and all(inner is not it for it in found):
                found.append(inner)
                waiting.append(inner)
    return found


def add_inner_functions(rules: CallRules) -> CallRules:
    """Return rules that also hold for the functions inside the given functions."""
    inner = {each: rule for it, rule in rules.items() for each in list_inner_functions(it)}
    return {**inner, **rules}


def nest_rules(outer: CallRules, inner: CallRules) -> CallRules:
    """Return all rules; two for one function become a rule with the inner `decide` and the restrictions of both."""
    both = {it: _join(outer[it], rule) if it in outer else rule for it, rule in inner.items()}
    return {
        **outer,
        **{it: replace(joined, decide=inner[it].decide) for it, joined in both.items()},
    }


def _join(outer: CallRule, inner: CallRule) -> CallRule:
    if outer == inner:
        return inner
    counts = [rule.at_most for rule in (outer, inner) if rule.at_most is not None]
    checks = [rule.check for rule in (outer, inner) if rule.check is not None]
    return CallRule(
        min(outer.decide, inner.decide, key=("deny", "ask", "allow").index),
        min(counts, default=None),
        functools.partial(_check_all, *checks) if len(checks) > 1 else (*checks, None)[0],
        inner.find or outer.find,
        outer.named or inner.named,
    )


def _check_all(outer: Check, inner: Check, /, *args: Any, **named: Any) -> Any:
    answer = run_check(outer, args, named)
    return answer if isinstance(answer, str) or not answer else run_check(inner, args, named)


def run_check(check: Check, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """Return the answer of a `check`; if it would have to be awaited, return a reason to refuse the call."""
    answer = check(*args, **named)
    if not inspect.isawaitable(answer):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()
    return "its check is an async function, which is not possible"


class Gate(typing.Protocol):
    """The gate that gated functions' calls pass in one block run."""

    turn: int
    """The turn with the running code."""
    ending: NaturalError | None
    """The error of an interceptor that has ended the block, also if the code catches it."""

    @property
    def rules(self) -> CallRules:
        """The rules for functions without the decorator."""

    def call(self, gated: GatedFunction, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Make a call if it is allowed; return its result, which for a coroutine function is an awaitable."""

    def wait_for_calls(self) -> None:
        """If an interceptor has ended the block, wait until the accepted calls in other threads are recorded."""


_gates: Stack[Gate | None] = Stack("njrt.gates")
_key: ContextVar[str] = ContextVar("njrt.gates", default="")
_gated: WeakKeyDictionary[Callable[..., Any], GatedFunction] = WeakKeyDictionary()
"""Gated functions, keyed by the functions that the program calls."""
_is_used = False


def is_used() -> bool:
    """Return whether the program has gated functions."""
    return _is_used


def get_gated_name(function: Callable[..., Any]) -> str:
    """Return a gated function's name in a `Touch`; raise ConfigurationError for any other function."""
    plain = getattr(function, "__func__", function)
    found = _gated.get(plain) if callable(plain) else None
    if found is None:
        raise ConfigurationError(
            f"{function!r} is not gated; write @njrt.gated above it, or use calls=True"
        )
    return found.name


def open_gate(gate: Gate | None) -> AbstractContextManager[Gate | None]:
    """Make the calls inside pass a gate, or no gate."""
    return _gates.opened(gate)


def find_gate() -> Gate | None:
    """Return the gate of the innermost block run around this point, if its code runs here."""
    return _gates.innermost()


async def require_awaited(found: Any, is_async: bool) -> Any:
    """Return the result of a `find`, awaited if its function is async; raise TypeError if only `find` is."""
    if not inspect.isawaitable(found):
        return found
    if is_async:
        return await found
    if inspect.iscoroutine(found):
        found.close()
    raise TypeError("`find` is async, but the function is not")


@contextmanager
def keyed(key: str) -> Iterator[None]:
    """Make a call outside the gate, with its key."""
    token = _key.set(key)
    try:
        with open_gate(None):
            yield
    finally:
        _key.reset(token)


def call_key() -> str:
    """Return, in a gated function, a text that differs for each call and stays the same after a crash; "" elsewhere.

    Pass it on as the idempotency key, or keep it beside the effect, so that `find` can look the call up.
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


def gated(
    function: Any = None,
    /,
    *,
    decide: Decide = "ask",
    at_most: int | None = None,
    check: Check | None = None,
    find: Find | None = None,
    named: bool = False,
) -> Any:
    """Make the calls that blocks' code makes of a function, sync or async, pass a gate.

    The arguments make a `CallRule`; ConfigurationError is raised if one is wrong. A refused call raises
    `PermissionError` in the code, which may continue.
    """
    rule = CallRule(decide, at_most, check, find, named)
    return _gate(rule, function) if function is not None else functools.partial(_gate, rule)


def _gate(rule: CallRule, function: Callable[..., Any]) -> Callable[..., Any]:
    global _is_used
    if isinstance(function, staticmethod | classmethod):
        return type(function)(_gate(rule, function.__func__))
    if isinstance(function, type) or not callable(function):
        raise ConfigurationError(f"njrt.gated is for functions, not for {function!r}")
    _is_used = True
    gated_function = GatedFunction(function, rule)
    wrapper = wrap_gated(gated_function)
    _gated[wrapper] = gated_function
    return wrapper


def wrap_gated(gated_function: GatedFunction, is_lent: bool = False) -> Callable[..., Any]:
    """Return a function that makes calls pass the gate, if one is open.

    A lent function is for the code of a block: outside blocks it raises PermissionError.
    """
    function = gated_function.function

    def make(gate: Gate | None, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if gate is None:
            if is_lent and not _gates.here():
                raise PermissionError(
                    f"calls of {gated_function.name} end with the block that has handed it over"
                )
            return function(*args, **named)
        return gate.call(gated_function, args, named)

    @functools.wraps(function)
    async def wait(gate: Gate | None, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return await make(find_gate() if _gates.here() else gate, args, named)

    def made(*args: Any, **named: Any) -> Any:
        if not _gates.here():
            check_context(gated_function.name)
        return (wait if is_async else make)(find_gate(), args, named)

    functools.update_wrapper(made, function)
    is_async = inspect.iscoroutinefunction(function)
    if is_async:  # the coroutine passes the gate of its call, wherever it is awaited
        if sys.version_info >= (3, 12):
            inspect.markcoroutinefunction(made)
        else:
            flags = made.__code__.co_flags | inspect.CO_COROUTINE
            made.__code__ = made.__code__.replace(co_flags=flags)
    inner = list_inner_functions(function)
    for name, value in [*vars(made).items()]:  # `wraps` has copied the attributes of the function
        if name in ("registry", "dispatch") and inner:
            del vars(made)[name]
        elif name != "__wrapped__" and any(value is it for it in inner):
            vars(made)[name] = wrap_gated(GatedFunction(value, gated_function.rule), is_lent)
    return made


class CarriedFunction:
    """A gated function as the code of a block sees it; elsewhere it is like the function.

    In an unknown context, a call is made in the block's context, so that it passes the block's gate
    if the code hands the function to a thread or a pool.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self._context = function, copy_context()
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **named: Any) -> Any:
        if is_context_known() or _gates.here():
            return self._function(*args, **named)
        return self._context.copy().run(self._function, *args, **named)

    def __eq__(self, other: object) -> bool:
        return (other._function if type(other) is CarriedFunction else other) is self._function

    def __hash__(self) -> int:
        return hash(self._function)

    def __reduce__(self) -> tuple[Any, ...]:
        return _get_function, (self._function,)


def _get_function(function: T) -> T:
    return function


def carry_gated(value: Any) -> Any:
    """Return a gated function or method as a block's code sees it; other values unchanged."""
    if type(value) is MethodType:
        function = carry_gated(value.__func__)
        return value if function is value.__func__ else MethodType(function, value.__self__)
    is_gated = type(value) is FunctionType and value in _gated
    return CarriedFunction(value) if is_gated else value
