"""The child: proxies for the classes and objects of the program.

    mail = proxies.decode(["r", 7, ...])      an object of a class `Mail`, as in the program
    mail.text                                 request("get", mail, "text")
    len(mail.labels)                          request("op", "__len__", ...)
    isinstance(mail, Mail)                    True, without a message

A class here has the same special methods as the program's class, so that Python itself dispatches operations.
The program's exceptions are real exceptions here, with the same bases, so that `except` works.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from types import ModuleType
from typing import Any

from njrt.execution.contained.known import (
    CHILD_MODULES,
    find_known_name,
    is_plain_class,
    list_error_members,
    make_error,
    resolve_known,
)
from njrt.execution.contained.operations import EVERY_OBJECT
from njrt.execution.contained.wire import MIRRORED_NAMES, Codec, Data, Mirrors, list_contents

Request = Callable[..., Any]
_LOCAL_ERROR = (
    "an object of {} that the code made cannot be handed to the program; "
    "hand over plain values, lists, dicts and sets, or objects of the program's classes"
)


_FOUND_ERROR = "the prompt does not name the class {}, only an object of it"


class ProxyType(type):
    """The class of all proxy classes."""

    _njrt_class: int
    _njrt_mro: frozenset[int]
    _njrt_request: Request
    _njrt_known: type | None
    _njrt_asks: bool
    """Whether the class itself decides what its instances are."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        raise TypeError(f"contained code cannot derive the class {name} from one of the program's")

    def __call__(cls, *args: Any, **named: Any) -> Any:
        return cls._njrt_request("call", cls, list(args), named)

    def __getattr__(cls, name: str) -> Any:
        return cls._njrt_request("get", cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        cls._njrt_request("set", cls, name, value)

    def __delattr__(cls, name: str) -> None:
        cls._njrt_request("del", cls, name)

    def __instancecheck__(cls, value: Any) -> bool:
        kind = type(value)
        if isinstance(kind, ProxyType) and cls._njrt_class in kind._njrt_mro:
            return True
        return cls._njrt_asks and bool(cls._njrt_request("isinstance", value, cls))

    def __subclasscheck__(cls, other: type) -> bool:
        if isinstance(other, ProxyType) and cls._njrt_class in other._njrt_mro:
            return True
        return cls._njrt_asks and bool(cls._njrt_request("issubclass", other, cls))

    def __bool__(cls) -> bool:
        return True


def _make_class_method(name: str) -> Callable[..., Any]:
    return lambda cls, *args: cls._njrt_request("op", name, cls, *args)


for _name in ("__iter__", "__len__", "__contains__", "__getitem__", "__repr__", "__dir__"):
    setattr(ProxyType, _name, _make_class_method(_name))
for _name in ("__annotations__", "__doc__"):  # Python has set its own
    setattr(ProxyType, _name, property(partial(ProxyType.__getattr__, name=_name)))  # type: ignore[call-arg]


class Proxy:
    """A proxy for an object of the program."""

    __slots__ = ("__weakref__", "_njrt_ref")

    def __init__(self, *args: Any, **named: Any) -> None:
        raise TypeError("`__init__` is refused in contained code")

    def __getattr__(self, name: str) -> Any:
        return type(self)._njrt_request("get", self, name)  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: Any) -> None:
        type(self)._njrt_request("set", self, name, value)  # type: ignore[attr-defined]

    def __delattr__(self, name: str) -> None:
        type(self)._njrt_request("del", self, name)  # type: ignore[attr-defined]

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("an object of the program cannot be pickled by contained code")


def _make_method(name: str, request: Request) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        return request("op", name, self, *args)

    method.__name__ = method.__qualname__ = name
    return method


def _make_member(name: str, request: Request) -> property:
    return property(lambda self: request("get", self, name))


def _leave(request: Request, name: str, manager: Any, error: BaseException | None) -> Any:
    """Leave a context manager, which must not suppress exceptions from outside."""
    result = request("op", name, manager, error)
    return _Unsuppressed(result) if isinstance(error, Interrupted) else result


class _Unsuppressed:
    """A context manager's result as a false value; an awaitable result is awaited first."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def __bool__(self) -> bool:
        return False

    def __await__(self) -> Generator[Any, Any, None]:
        yield from self.result.__await__()


def _make_await(name: str, request: Request) -> Callable[..., Any]:
    def wait(self: Any) -> Generator[None, None, Any]:
        result = request("await", self)
        yield from ()
        return result

    return wait


def _make_hash(name: str, request: Request) -> Callable[..., int]:
    def find_hash(self: Any) -> int:
        result = request("op", name, self)
        return result if type(result) is int else hash(result)  # of the same plain value here

    return find_hash


_MAKERS: Mapping[str, Callable[[str, Request], Callable[..., Any]]] = {
    **dict.fromkeys(
        ("__exit__", "__aexit__"),
        lambda name, request: lambda self, kind, error, trace: _leave(request, name, self, error),
    ),
    "__deepcopy__": lambda name, request: lambda self, memo: request("op", name, self),
    "__await__": _make_await,
    "__hash__": _make_hash,
    "__call__": lambda _, request: (
        lambda self, /, *args, **named: request("call", self, list(args), named)
    ),
}
"""Functions that make the methods which differ from the others."""


def _set_error(self: Any, name: str, value: Any) -> None:
    if name.startswith("__"):
        BaseException.__setattr__(self, name, value)
    else:
        type(self)._njrt_request("set", self, name, value)


_ERROR_METHODS = {
    "__getattr__": lambda self, name: type(self)._njrt_request("get", self, name),
    "__setattr__": _set_error,
}
"""Methods of exception proxies."""


def _add_note(request: Request, error: BaseException, note: str) -> None:
    """Add a note to an exception of the program; the class here is Python's."""
    request("get", error, "add_note")(note)
    vars(error)["__notes__"] = request("get", error, "__notes__")


class Interrupted(BaseException):
    """The program has left the operation with an exception that the code must not handle."""


class CannotCross(TypeError):
    """A value of the code cannot be passed to the program."""


class Proxies(Codec):
    """The program's objects in the child (state: proxies, classes, containers of both sides, functions handed over)."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.mirrors = Mirrors(self)
        self.classes: dict[int, Any] = {}
        self.released: dict[int, None] = {}
        self.handed_over: list[Any] = []
        self._handed_numbers: dict[int, int] = {}
        self._hand_overs = 0
        self._containers = 0
        self._being_encoded: set[int] = set()
        self._reached: set[int] = set()
        self._objects: dict[int, weakref.ref[Any]] = {}
        self._errors: dict[int, BaseException] = {}
        self._error_states: dict[int, dict[str, Any]] = {}
        """Attributes of exceptions of built-in classes, as the program knows them."""

    # ── to the program ───────────────────────────────────────────────────────────────────────────

    def encode_object(self, value: Any) -> Data:
        """Return a reference, a new container for both sides, or a function that the program may call."""
        kind = type(value)
        if isinstance(kind, ProxyType) and not isinstance(value, BaseException):
            return ["r", value._njrt_ref]
        if kind is ProxyType:
            if value._njrt_class not in self._reached:
                name = type.__getattribute__(value, "__name__")
                raise CannotCross(_FOUND_ERROR.format(name))
            return ["r", value._njrt_class]
        if kind in MIRRORED_NAMES:
            return self._encode_container(value)
        if isinstance(value, type) and is_plain_class(value):
            return ["k", *(find_known_name(value) or ())]
        if isinstance(value, BaseException):
            return self._encode_error(value)
        if hasattr(kind, "__next__"):
            return ["g", self._hand_over(value)]
        if kind is object:
            return ["o", self._hand_over(value)]
        if callable(value):
            return ["f", self._hand_over(value)]
        if kind is ModuleType and value.__name__ in CHILD_MODULES:
            return ["module", value.__name__]
        if kind is tuple or kind is frozenset:
            return ["t" if kind is tuple else "fs", [self.encode(member) for member in value]]
        raise CannotCross(_LOCAL_ERROR.format(f"the class {kind.__name__}"))

    def encode_operand(self, value: Any) -> Data:
        """Return an operand's data, for a class its name: the program may inspect more classes than it accepts."""
        if type(value) is ProxyType:
            return ["r", value._njrt_class]
        known = find_known_name(value) if isinstance(value, type) else None
        return ["k", *known] if known else self.encode(value)

    def encode_argument(self, value: Any) -> Data:
        """Return an argument's data; the program refuses a class that was only found, unless it is just looked up."""
        return self.encode_operand(value) if type(value) is ProxyType else self.encode(value)

    def encode_kept(self, value: Any) -> Data:
        """Return the data of a value that outlives the code, and so may hold none of its functions or iterators."""
        with self.undo_on_error():
            before = self._hand_overs
            data = self.encode(value)
            if self._hand_overs > before:
                raise CannotCross(
                    "a function or iterator of contained code ends with it, and cannot be bound to an output"
                )
            return data

    @contextmanager
    def undo_on_error(self) -> Iterator[None]:
        """Forget the containers encoded in the `with` if it ends in an exception, because they are not sent."""
        before = self._containers
        try:
            yield
        except BaseException:
            for number in range(before + 1, self._containers + 1):
                self.mirrors.drop(-number)
            raise

    def _hand_over(self, value: Any) -> int:
        self._hand_overs += 1
        number = self._handed_numbers.get(id(value))
        if number is None:
            number = self._handed_numbers[id(value)] = len(self.handed_over)
            self.handed_over.append(value)
        return number

    def _encode_container(self, value: Any) -> Data:
        number = self.mirrors.numbers.get(id(value))
        if number is not None:
            return ["L", number]
        self._containers += 1
        number = -self._containers
        self.mirrors.add(number, value)
        self.mirrors.remember(number)
        members = [self.encode(member) for member in list_contents(value)]
        return ["m", number, MIRRORED_NAMES[type(value)], members]

    def release_unused(self) -> None:
        """Release the containers that the code no longer holds; from then on they belong to the program alone."""
        for number in list(self.mirrors.by_number):
            # References from the table and from this call.
            if sys.getrefcount(self.mirrors.by_number[number]) <= 2:
                self.mirrors.drop(number)
                self.released[number] = None

    def take_released(self) -> list[int]:
        """Return the numbers of objects that nothing here refers to anymore."""
        self.release_unused()
        released = list(self.released)
        self.released.clear()
        return released

    def _encode_error(self, error: BaseException) -> Data:
        if isinstance(error, Interrupted):
            return ["interruption"]
        if isinstance(error, CannotCross):
            return ["x", "builtins", "TypeError", [str(error)], {}, None, None, False]
        fields = getattr(error, "__dict__", {})
        number = fields.get("_njrt_ref")
        known = find_known_name(type(error))
        if number is None and known is None:
            raise CannotCross(_LOCAL_ERROR.format(f"the exception {type(error).__name__}"))
        if id(error) in self._being_encoded:
            return None
        self._being_encoded.add(id(error))
        try:
            cause, context = map(self.encode, (error.__cause__, error.__context__))
        except CannotCross:
            cause = context = None
        finally:
            self._being_encoded.discard(id(error))
        chain = [cause, context, error.__suppress_context__]
        if known is None or number is not None:
            return ["r", number] if chain == [None, None, False] else ["from", number, *chain]
        members = list_error_members(type(error))
        fields = fields | {name: member.__get__(error) for name, member in members.items()}
        attributes = {name: self.encode(value) for name, value in fields.items()}
        args = [self.encode(argument) for argument in error.args]
        return ["x", *known, args, attributes, *chain]

    # ── from the program ─────────────────────────────────────────────────────────────────────────

    def decode_object(self, data: list[Data]) -> Any:
        """Return the proxy, class, container or exception for data of the program."""
        match data:
            case ["r", number, kind]:
                return self._get_proxy(number, kind)
            case ["C", kind, is_reached]:
                found = self._get_class(kind)
                if is_reached:
                    self._reached.add(found._njrt_class)
                return found
            case ["k", module, path]:
                return resolve_known(module, path)
            case ["L", number]:
                return self.mirrors.by_number[number]
            case ["E", number]:
                return self._watch_error(number)
            case ["E", number, kind, args, fields, group]:
                return self._get_error(number, kind, args, fields, group)
            case ["module", name]:
                return sys.modules[name]
            case ["local", number]:
                return self.handed_over[number]
        raise AssertionError(f"unknown data {data[0]!r}")

    def _get_proxy(self, number: int, kind: Data) -> Any:
        reference = self._objects.get(number)
        found = reference() if reference is not None else None
        if found is None:
            self.released.pop(number, None)
            found = object.__new__(self._get_class(kind))
            object.__setattr__(found, "_njrt_ref", number)
            self._objects[number] = weakref.ref(found, partial(self._note_released, number))
        return found

    def _note_released(self, number: int, reference: weakref.ref[Any]) -> None:
        if self._objects.get(number) is reference:
            del self._objects[number]
            self.released[number] = None

    def _get_class(self, kind: Data) -> Any:
        if type(kind) is int:
            return self.classes[kind]
        number = kind[0]
        if number not in self.classes:
            self.classes[number] = self._make_class(*kind)
        return self.classes[number]

    def _make_class(
        self,
        number: int,
        name: str,
        path: str,
        module: str,
        methods: list[str],
        is_hashable: bool,
        known: Data,
        shown: Data,
        mro: list[int],
        positions: list[str] | None,
        asks: bool,
        abcs: list[Data],
        bases: list[Data] | None,
        own: list[str],
    ) -> Any:
        request = self.request
        namespace: dict[str, Any] = {
            "__module__": module,
            "__qualname__": path,
            "__doc__": _make_member("__doc__", request),
            "_njrt_class": number,
            "_njrt_request": staticmethod(request),
            "_njrt_mro": frozenset(mro),
            "_njrt_asks": asks,
            "_njrt_known": self.decode(known) if known else None,
        }
        if positions is not None:
            namespace["__match_args__"] = tuple(positions)
        for method in (*methods, *EVERY_OBJECT):
            namespace[method] = _MAKERS.get(method, _make_method)(method, request)
        if not is_hashable:
            namespace["__hash__"] = None
        if bases is not None:
            namespace |= _ERROR_METHODS | {name: _make_member(name, request) for name in own}
            found = tuple(map(self.decode, bases))  # another base class has a different layout here
            errors = tuple(base for base in found if issubclass(base, BaseException))
            return type.__new__(ProxyType, name, errors, namespace)
        if shown:
            shown_class = self.decode(shown)
            namespace["__class__"] = property(lambda _: shown_class)
        made = type.__new__(ProxyType, name, (Proxy,), {"__slots__": (), **namespace})
        for abstract in abcs:
            self.decode(abstract).register(made)
        return made

    def _get_error(
        self, number: int, kind: Data, args: list[Data], fields: dict[str, Data], group: list[Data]
    ) -> BaseException:
        # In the order of encoding: the first part with a class describes the class.
        cls, values = self.decode(kind), tuple(map(self.decode, args))
        attributes = {name: self.decode(value) for name, value in fields.items()}
        members = [*map(self.decode, group)]
        error = make_error(cls, values, attributes, (*members[:1], members[1:]) if group else ())
        vars(error)["_njrt_ref"] = number
        if not isinstance(cls, ProxyType):
            vars(error)["add_note"] = partial(_add_note, self.request, error)
        self._errors[number] = error
        self._watch_error(number)
        return error

    def _watch_error(self, number: int) -> BaseException | None:
        """Return one of the program's exceptions, and record its state if its attributes are stored here."""
        error = self._errors.get(number)
        if error is not None and not isinstance(type(error), ProxyType):
            self._error_states.setdefault(number, _read_state(error))
        return error

    def take_error_changes(self) -> list[tuple[Any, ...]]:
        """Return the operations for attributes that the code has changed on the program's built-in exceptions."""
        changes: list[tuple[Any, ...]] = []
        for number, known in list(self._error_states.items()):
            error = self._errors[number]
            now = self._error_states[number] = _read_state(error)
            # Referenced only by the table, its `add_note` and this call: the code no longer holds it.
            if sys.getrefcount(error) <= 4:
                del self._error_states[number]
            changes += [("del", error, name) for name in known.keys() - now.keys()]
            changes += [
                ("set", error, name, value)
                for name, value in now.items()
                if name not in known or not _is_same(known[name], value)
            ]
        return changes


def _read_state(error: BaseException) -> dict[str, Any]:
    members = list_error_members(type(error)).items()
    state = {name: member.__get__(error) for name, member in members} | vars(error)
    return {name: it for name, it in state.items() if name[0] != "_" and name != "add_note"}


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) is int and one == other)


def copy_before(
    function: Callable[..., Any], copy: Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    """Return a `json` function that is passed copies of the program's containers, as it does not know proxies."""

    @wraps(function)
    def call(value: Any, *args: Any, **named: Any) -> Any:
        return function((copy or _copy_plain)(value), *args, **named)

    return call


def copy_shown(value: Any) -> Any:
    """Return a copy of one of the program's containers, which `pprint` formats like any other of its class."""
    own = type(value)
    kind: Any = own._njrt_known if isinstance(own, ProxyType) else own
    if kind is dict:
        return {copy_shown(key): copy_shown(item) for key, item in value.items()}
    return kind(map(copy_shown, value)) if kind in (list, tuple, set, frozenset) else value


def _copy_plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_copy_plain(key): _copy_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy_plain(item) for item in value]
    if isinstance(type(value), ProxyType):
        if isinstance(value, str):
            return value[:]
        for kind in (int, float):
            if isinstance(value, kind):
                return kind(value)
    return value
