"""The door: every operation of contained code on an object of the program, checked on the real object and performed.

    door.touch("get", [["r", 7], "text"])              mail.text
    door.touch("get", [["r", 7], "__globals__"])       a refusal, as an AttributeError in the code
    door.touch("call", [["r", 9], [["r", 7]], {}])     is_spam(mail)

The code may reach the names of its block, and from there public attributes and items. Refused are names with
an underscore, except harmless ones; attributes that lead into the interpreter; modules that the prompt does not name;
what modules have imported from elsewhere; and instantiating classes that were only found by `type(x)`.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
from collections import UserString
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from string import Formatter
from types import (
    BuiltinMethodType,
    CellType,
    CodeType,
    FrameType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any, NoReturn

from njrt.execution.contained.authority import (
    find_home,
    find_import,
    find_refused_change,
    find_refused_given,
    find_refused_member,
    is_described,
    limit_function,
    list_owners,
    makes_instances,
)
from njrt.execution.contained.known import (
    find_known_name,
    is_plain_class,
    list_error_members,
    make_error,
    resolve_known,
)
from njrt.execution.contained.operations import ALL, EVERY_OBJECT, list_operations
from njrt.execution.contained.wire import MIRRORED, Codec, Data, Mirrors, WireError, fill
from njrt.execution.door_checks import (
    FORMAT_METHODS,
    REFUSED_ATTRIBUTES,
    REFUSED_BINDINGS,
    SAFE_NAMES,
    ComputingModule,
    check_read,
    find_target,
    is_checked_name,
    open_module,
)
from njrt.gates import (
    CallRules,
    CarriedFunction,
    GatedFunction,
    carry_gated,
    find_gate,
    find_plain_function,
    wrap_gated,
)
from njrt.outcome import UserValue
from njrt.values.introspection import (
    get_class_namespace,
    get_module_name,
    get_mro,
    is_a,
    is_user_class,
)

_INTERNAL_CLASSES = (CellType, CodeType, FrameType, TracebackType)
_REFUSED_METHODS = ("__class_getitem__", "__del__", "__init__", "__init_subclass__", "__new__", "__prepare__", "__post_init__")  # fmt: skip
_SEQUENCE_FLAG, _MAPPING_FLAG = 1 << 5, 1 << 6
"""Py_TPFLAGS_SEQUENCE and _MAPPING, which `match` tests."""
_OF_FOUND_CLASSES = (
    "__eq__",
    "__ne__",
    "__hash__",
    *EVERY_OBJECT.keys() - {"__copy__", "__deepcopy__"},
)
_CONTAINERS = (dict, list, tuple, set, frozenset)
"""Containers that look up an object without calling the program's methods."""
_OF_ERRORS = {name for name in dir(BaseExceptionGroup) if name[0] != "_"}
_FORMATTING = {*FORMAT_METHODS, "get_field", "vformat"}
_OF_TYPES = ("__getitem__", "__or__", "__ror__", "__ior__")
"""Operations that make types from classes."""
_TYPING = ("typing", "typing_extensions")
_TEXTS = ("__str__", "__repr__", "__format__")


class Refused(Exception):
    """The door refuses an operation; `error` is raised in the code."""

    def __init__(self, kind: type[Exception], text: str) -> None:
        super().__init__(text)
        self.error = kind(text)


class Shown:
    """The last value of a piece of code, only as its text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class Handed:
    """An object of the code that means nothing to the program, such as a default that is only compared."""

    def __init__(self, number: int, call: Callable[..., Any]) -> None:
        self._number, self._call = number, call


class Found:
    """A class that the code is shown only as the class of an object."""

    def __init__(self, cls: type) -> None:
        self.cls = cls


class HandedFunction(Handed):
    """A function or class of the code, as the program sees it while the code runs."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self._call(self._number, args, named)


class HandedIterator(HandedFunction):
    """An iterator of the code."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._call(self._number, (), {})


_HANDED: Mapping[str, type[Handed]] = {"f": HandedFunction, "g": HandedIterator, "o": Handed}


class Door(Codec):
    """The references of a piece of code (state: objects, containers of both sides, functions handed over)."""

    def __init__(self, modules: Set[str], call_function: Callable[..., Any]) -> None:
        self.modules = modules
        self.call_function = call_function
        self.mirrors = Mirrors(self)
        self.handed: dict[int, Handed] = {}
        self._objects: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._described: dict[int, None] = {}
        self._reached: set[int] = set()
        self._gated: dict[int, tuple[Any, Callable[..., Any]]] = {}
        self._homes: dict[tuple[int, str], tuple[Any, str | None]] = {}
        gate = find_gate()
        self.has_gate = gate is not None
        self.rules: CallRules = gate.rules if gate else {}
        self.interruption: BaseException | None = None
        """Set once an exception that must leave the block has left an operation."""
        self._next = 1

    # ── references ───────────────────────────────────────────────────────────────────────────────

    def encode_object(self, value: Any) -> Data:
        """Return a reference to an object of the program, described if the child does not know its class yet."""
        if self.has_gate:
            value = self._put_behind_gate(value)
        value = limit_function(value, self.modules)
        number = self.mirrors.numbers.get(id(value))
        if number is not None:
            return ["L", number]
        if is_a(value, Handed):
            return ["local", value._number]
        if is_a(value, Found):
            return self._name_class(value.cls)
        if isinstance(type(value), type) and issubclass(type(value), type):
            if not find_known_name(value):  # the code has its own
                self._reached.add(self._refer(value))
            return self._name_class(value)
        if is_a(value, ComputingModule) and value.__name__ != "asyncio":
            return ["module", value.__name__]
        if issubclass(type(value), BaseException):
            return self._encode_error(value)
        if issubclass(type(value), _INTERNAL_CLASSES) or value is vars(builtins):
            raise Refused(AttributeError, f"a {type(value).__name__} is refused in contained code")
        is_whole = is_a(value, ModuleType) and not is_a(value, ComputingModule)
        if is_whole and value.__name__.partition(".")[0] not in self.modules:
            raise Refused(AttributeError, f"the prompt does not name the module {value.__name__}")
        return ["r", self._refer(value), self._describe(type(value))]

    def _put_behind_gate(self, value: Any) -> Any:
        """Return the gated form of a function that has a rule, or the value itself."""
        if not callable(value) or isinstance(value, type):
            return value
        if is_a(value, partial):
            gated = self._put_behind_gate(value.func)
            rebuilt = partial(gated, *value.args, **value.keywords)
            return self._keep(value, value if gated is value.func else rebuilt)
        function = find_plain_function(value)
        try:
            rule = self.rules.get(function)
        except TypeError:  # it has no hash
            return value
        if rule is None:
            handed = carry_gated(value)
        else:
            handed = CarriedFunction(wrap_gated(GatedFunction(value, rule), is_lent=True))
        # A bound method is a new object each time.
        return self._keep(value, handed) if function is value and handed is not value else handed

    def _keep(self, value: Any, gated: Callable[..., Any]) -> Callable[..., Any]:
        """Return the first gated form of a function, so that it stays the same object in the code."""
        return self._gated.setdefault(id(value), (value, gated))[1]

    def _refer(self, value: Any) -> int:
        number = self._numbers.get(id(value))
        if number is None:
            number = self._next
            self._next += 1
            self._numbers[id(value)] = number
            self._objects[number] = value
        return number

    def release(self, numbers: Sequence[int]) -> None:
        """Forget objects and containers that the child no longer refers to."""
        for number in numbers:
            if number < 0:
                self.mirrors.drop(number)
            elif number not in self._described:
                value = self._objects.pop(number, None)
                self._numbers.pop(id(value), None)

    def close(self) -> None:
        for table in (self._objects, self._numbers, self.handed, self._gated, self._homes):
            table.clear()
        self.mirrors = Mirrors(self)
        del self.call_function, self.interruption

    def _name_class(self, cls: type) -> Data:
        """Return the known name of a class, or its description."""
        known = find_known_name(cls)
        return ["k", *known] if known else ["C", self._describe(cls), self._is_reached(cls)]

    def _describe(self, cls: type) -> Data:
        """Return the number of a class, or its description the first time."""
        number = self._refer(cls)
        if number in self._described:
            return number
        self._described[number] = None
        mro = type.mro(cls) if cls is type else cls.__mro__
        is_error = issubclass(cls, BaseException)
        known = find_known_name(cls)
        concrete = (base for base in mro if type(base).__name__ != "ABCMeta" and base is not object)
        shown = next(filter(None, map(find_known_name, concrete)), None)
        positions = cls.__dict__.get("__match_args__", getattr(cls, "__match_args__", None))
        is_plain = type(positions) is tuple and all(type(name) is str for name in positions)
        asks = type(cls).__instancecheck__ is not type.__instancecheck__
        bases = [self._name_class(base) for base in cls.__bases__] if is_error else None
        own = {n for base in mro if not find_known_name(base) for n in get_class_namespace(base)}
        return [
            number,
            cls.__name__,
            cls.__qualname__,
            str(type.__getattribute__(cls, "__module__")),
            list_operations(cls),
            cls.__hash__ is not None,
            ["k", *known] if known else None,
            ["k", *shown] if shown and not is_error else None,
            [self._refer(base) for base in mro],
            list(positions) if is_plain else None,
            asks,
            [["k", *name] for name in _list_abstract(cls, mro)],
            bases,
            [name for name in (own | {"add_note"}) & _OF_ERRORS if is_error],
        ]

    def _encode_error(self, error: BaseException) -> Data:
        """Return an exception, or its description the first time: the child keeps exceptions to the end."""
        number = self._refer(error)
        if number in self._described:
            return ["E", number]
        self._described[number] = None
        kind = self._name_class(type(error))
        members = list_error_members(type(error))
        values = {name: member.__get__(error) for name, member in members.items()}
        if kind[0] == "k":
            values |= vars(error)
        args, fields, group = [], {}, []
        with suppress(Refused), self.undo_on_refusal():
            args = [*map(self.encode, values.pop("args"))]
        for name, value in values.items():
            with suppress(Refused), self.undo_on_refusal():
                self._check_name(error, name)
                fields[name] = self.encode(value)
        if isinstance(error, BaseExceptionGroup):
            group = [str(error.message), *map(self.encode, error.exceptions)]
        return ["E", number, kind, args, fields, group]

    @contextmanager
    def undo_on_refusal(self) -> Iterator[None]:
        """Forget the descriptions made in the `with` if it ends in a refusal, because they are not sent."""
        before = len(self._described)
        try:
            yield
        except Refused:
            while len(self._described) > before:
                self._described.popitem()
            raise

    def decode_object(self, data: list[Data]) -> Any:
        """Return the object behind a reference, or an object that the code made."""
        match data:
            case ["r", int(number)]:
                return self._check_class(self._objects[number])
            case ["L", int(number)]:
                return self.mirrors.by_number[number]
            case ["m", int(number), str(kind), list(members)] if (
                number < 0 and number not in self.mirrors.by_number
            ):
                container = MIRRORED[kind]()
                self.mirrors.add(number, container)
                fill(container, 0, [self.decode(member) for member in members])
                self.mirrors.remember(number)
                return container
            case ["k", str(module), str(path)]:
                return self._check_class(resolve_known(module, path))
            case ["f" | "g" | "o" as kind, int(number)]:
                return self.handed.setdefault(number, _HANDED[kind](number, self.call_function))
            case ["interruption"] if self.interruption is not None:
                return self.interruption
            case ["x", str(module), str(path), list(args), dict(fields), *chain]:
                attributes = {name: self.decode(value) for name, value in fields.items()}
                cls = self._check_class(resolve_known(module, path))
                if not issubclass(cls, BaseException):
                    raise WireError("not an exception")
                try:
                    error = make_error(cls, tuple(map(self.decode, args)), attributes)
                except (TypeError, ValueError, StopIteration):
                    raise WireError("not an exception") from None
                return self._chain(error, *chain)
            case ["from", int(number), *chain]:
                return self._chain(self._objects[number], *chain)
            case ["module", str(name)]:
                return open_module(name)
            case ["shown", str(text)]:
                return Shown(text)
        raise WireError("unknown data")

    def _chain(
        self,
        error: BaseException,
        cause: Data = None,
        context: Data = None,
        is_hidden: Data = False,
    ) -> BaseException:
        """Give an exception the cause and context that it has in the code."""
        if not is_a(error, BaseException):
            raise WireError("not an exception")
        if context is not None:
            error.__context__ = self.decode(context)
        if cause is not None:
            error.__cause__ = self.decode(cause)
        if is_hidden is True:
            error.__suppress_context__ = True
        return error

    def _check_class(self, value: Any) -> Any:
        """Return an object that the code hands to the program; refuse classes that the program must not call for it.

        The program may call any class that it is handed, and may return it from a container.
        """
        if not is_a(value, type) or self._is_reached(value) or is_plain_class(value):
            return value
        if find_known_name(value):
            raise Refused(TypeError, f"the class {value.__name__} cannot be handed to the program")
        return self._refuse_found_class(value)

    def _find_target(self, data: Data) -> Any:
        """Return the program's object that an operation acts on, which may be a class that was only found."""
        match data:
            case ["r", int(number)]:
                value = self._objects[number]
                if is_a(value, type) and find_known_name(value):  # the code has its own
                    self._refuse_found_class(value)
                return value
            case ["from", *_]:
                return self.decode(data)
        raise WireError("not an object of the program")

    def _find_operand(self, data: Data) -> Any:
        """Return an operand that is only inspected, which may be a class that was only found."""
        match data:
            case ["r", int(number)]:
                return self._objects[number]
            case ["k", str(module), str(path)]:
                return resolve_known(module, path)
        return self.decode(data)

    # ── operations ───────────────────────────────────────────────────────────────────────────────

    def perform(self, operation: str, data: list[Data]) -> Any:
        """Check an operation and perform it; raise `Refused` if it is not allowed."""
        decode = self.decode
        match operation, data:
            case "get", [target, str(name)]:
                value = self._find_target(target)
                self._check_name(value, name)
                if name == "__members__":
                    return dict(getattr(value, name))
                member = getattr(value, name)
                if name == "__all__" and type(member) is list:  # it decides what the module exports
                    return [*member]
                if type(member) in (MethodType, BuiltinMethodType):  # may come from a proxy
                    self._check_owner(member.__self__, name)
                if library := find_refused_given(value, name, member, self.modules):
                    _refuse_member(name, library)
                if makes_instances(member) and self._is_only_found(member.__self__):
                    self._refuse_found_class(member.__self__)
                if is_described(value, member):
                    if not is_a(member, type):
                        raise Refused(AttributeError, f"the type in `{name}` is refused here")
                    return member if find_known_name(member) else Found(member)
                if name == "__class__" and is_a(member, type):
                    return Found(member)
                if is_a(value, ModuleType) and not is_a(member, ModuleType):
                    self._check_module_member(value, name, member)
                return member
            case "op", [("__exit__" | "__aexit__") as name, target, ["x", _, "GeneratorExit", *_]]:
                # Only a manager is given this exception: elsewhere it could end the program.
                return ALL[name](self._check_class(self._find_target(target)), GeneratorExit())
            case "op", [str(name), target, *rest] if name in ALL:
                value = self._find_target(target)
                is_lookup = name in ("__eq__", "__ne__") or (
                    name in ("__contains__", "__getitem__") and type(value) in _CONTAINERS
                )
                operands = [*map(self._find_operand if is_lookup else decode, rest)]
                if name not in _OF_FOUND_CLASSES and self._is_only_found(value):
                    self._refuse_found_class(value)
                if name == "__setitem__":
                    self._refuse_function(operands[1])
                if name in _OF_TYPES:
                    _refuse_texts_in_types(name, value, operands)
                return _limit_text(name, ALL[name](value, *operands))
            case "call", [target, list(args), dict(named)]:
                function = self._find_target(target)
                if self._is_only_found(function):
                    self._refuse_found_class(function)
                is_lookup = (
                    type(function) is BuiltinMethodType
                    and type(function.__self__) in _CONTAINERS
                    and function.__name__ in ("get", "count", "index")
                )
                values = [
                    self._find_operand(data) if is_lookup and not place else decode(data)
                    for place, data in enumerate(args)
                ]
                return function(*values, **{key: decode(value) for key, value in named.items()})
            case "set", [target, str(name), data_of_value]:
                value, new = self._find_target(target), decode(data_of_value)
                self._check_binding(value, name, new)
                return setattr(value, name, new)
            case "del", [target, str(name)]:
                value = self._find_target(target)
                self._check_binding(value, name, None)
                return delattr(value, name)
            case "isinstance", [target, cls]:
                return isinstance(self._find_operand(target), self._find_target(cls))
            case "issubclass", [target, cls]:
                return issubclass(self._find_operand(target), self._find_target(cls))
            case "super", [cls, target]:
                return super(self._find_target(cls), self._find_operand(target))
            case "import", [str(path), bool(is_member)]:
                return self._import(path, is_member)
        raise WireError(f"unknown operation {operation!r}")

    def find_awaitable(self, data: list[Data]) -> Awaitable[Any]:
        """Return the object that the code awaits."""
        value = self.decode(data[0])
        if not inspect.isawaitable(value):
            raise Refused(
                TypeError, f"object {type(value).__name__} can't be used in 'await' expression"
            )
        return value

    def _check_owner(self, value: Any, name: str) -> None:
        """Refuse library members that do more than their object, and methods that read attributes named in a text."""
        if library := find_refused_member(value, name, self.modules):
            _refuse_member(name, library)
        if name in _FORMATTING and not {str, UserString, Formatter}.isdisjoint(list_owners(value)):
            raise Refused(AttributeError, f"`{name}` is refused here; write str(x).{name}(...)")

    def _check_name(self, value: Any, name: str) -> None:
        self._check_owner(value, name)
        if is_checked_name(name):
            try:
                check_read(value, name)
            except AttributeError as error:
                raise Refused(AttributeError, str(error)) from None
        if name == "__members__":
            return
        is_special = name.startswith("_") and (name not in SAFE_NAMES or name in _REFUSED_METHODS)
        is_of_class = name in ("__class__", "__call__") and is_a(value, type)
        if is_of_class or is_special or name in REFUSED_ATTRIBUTES:
            raise Refused(AttributeError, f"`{name}` is refused in contained code")
        if name == "__getitem__" and not is_a(value, type) and _is_of_types(value):
            raise Refused(AttributeError, f"`{name}` is refused here; write x[...]")

    def _check_module_member(self, module: ModuleType, name: str, member: Any) -> None:
        """Refuse members that the module has imported from elsewhere."""
        if name == "all_tasks" and is_a(module, ComputingModule) and "asyncio" not in self.modules:
            raise Refused(AttributeError, f"`{name}` is refused here: it gives the program's tasks")
        if is_a(module, ComputingModule) or name in getattr(module, "__all__", ()):
            return
        own = module.__name__.partition(".")[0]
        home = getattr(member, "__module__", None) if callable(member) else None
        if isinstance(home, str):
            is_known = is_a(member, type) and find_known_name(member)
            is_own = is_known or home in ("builtins", module.__name__)
        else:
            key = id(member), own
            if key not in self._homes:  # looking through all modules takes milliseconds
                self._homes[key] = member, find_home(member, own)
            home = self._homes[key][1] or find_import(module, name, member)
            is_own = home is None
        if not is_own and str(home).partition(".")[0].lstrip("_") != own.lstrip("_"):
            raise Refused(
                AttributeError,
                f"`{name}` comes from the module {home}, which the prompt does not name",
            )

    def _check_binding(self, value: Any, name: str, new: Any) -> None:
        if name.startswith("_") or name in REFUSED_BINDINGS or name in REFUSED_ATTRIBUTES:
            raise Refused(AttributeError, f"setting `{name}` is refused in contained code")
        if library := find_refused_change(value, name, self.modules):
            raise Refused(AttributeError, f"{library} evaluates `{name}`: it cannot be set here")
        target = find_target(value)
        if is_a(target, type) and find_known_name(target):
            raise Refused(TypeError, "contained code cannot change Python's library")
        if self._is_only_found(value) and not is_user_class(value):
            self._refuse_found_class(value)
        self._refuse_function(new)

    def _refuse_function(self, value: Any) -> None:
        if is_a(value, Handed):
            raise Refused(
                TypeError,
                "a function or iterator of contained code ends with it, and cannot be kept",
            )

    def _is_only_found(self, value: Any) -> bool:
        """Return whether this is a class that the code knows only as the class of an object."""
        return is_a(value, type) and not self._is_reached(value)

    def _is_reached(self, cls: type) -> bool:
        return self._numbers.get(id(cls)) in self._reached

    def _refuse_found_class(self, cls: type) -> NoReturn:
        raise Refused(
            TypeError, f"the prompt does not name the class {cls.__name__}, only an object of it"
        )

    def _import(self, path: str, is_member: bool) -> ModuleType:
        top = path.partition(".")[0]
        if top == "asyncio":
            return open_module(top)
        if top not in self.modules:
            raise ImportError(f"`{path}` cannot be imported in contained code")
        module = importlib.import_module(path)
        return module if is_member else importlib.import_module(top)


def _refuse_member(name: str, library: str) -> NoReturn:
    raise Refused(
        AttributeError,
        f"`{name}` is refused here: it is of {library}, which the prompt does not name",
    )


def _is_of_types(value: Any) -> bool:
    """Return whether this is a class, an alias of one such as `Box[int]`, or a type variable."""
    return is_a(find_target(value), type) or get_module_name(type(value)) in _TYPING


def _refuse_texts_in_types(name: str, value: Any, operands: Sequence[Any]) -> None:
    """Refuse `Box["text"]`: libraries such as pydantic run strings in types as code."""
    if name == "__getitem__" and not _is_of_types(value):
        return
    if name == "__getitem__" and is_a(value, type):
        asked = (it for it in get_mro(value) if "__class_getitem__" in get_class_namespace(it))
        is_enum = any("__getitem__" in get_class_namespace(it) for it in get_mro(type(value)))
        if is_enum or any(is_user_class(it) for it in islice(asked, 1)):
            return
    if not any(map(_is_of_types, (value, *operands))):
        return
    waiting = [value, *operands]
    while waiting:
        part = waiting.pop()
        if is_a(part, str):
            raise Refused(TypeError, "a text in a type is refused in contained code")
        if is_a(part, tuple) or is_a(part, list):
            waiting += list(part)
        elif is_a(part, dict):
            waiting += [*dict.keys(part), *dict.values(part)]


def _list_abstract(cls: type, mro: Sequence[type]) -> Iterator[tuple[str, str]]:
    """Yield the known abstract classes that a class belongs to by its flags or bases, not just by its methods."""
    if cls.__flags__ & _SEQUENCE_FLAG:
        yield "collections.abc", "Sequence"
    if cls.__flags__ & _MAPPING_FLAG:
        yield "collections.abc", "Mapping"
    for base in mro:
        name = find_known_name(base) if type(base).__name__ == "ABCMeta" else None
        if name is not None and name[0] in ("collections.abc", "numbers"):
            yield name


def _limit_text(name: str, result: UserValue) -> UserValue:
    """Return the exact str that Python expects from these methods, and a tuple for `__dir__`."""
    if name in _TEXTS:
        return str.__getitem__(result, slice(None))
    return tuple(result) if name == "__dir__" else result
