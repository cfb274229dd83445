"""The program's side of contained code: what it sends, which changes it takes, what it calls.

    program.encode({"orders": orders})       numbers for everything that the names reach
    program.check_change(7, order)           StateError if the block may only read it
    program.find_call(["method", 7, "add"])  the method of the real object, behind the block's gate

The code may call the functions and classes that the text names, those that a named list or dict
holds, and the public methods of the program's own objects.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import ModuleType, SimpleNamespace
from typing import Any

from njrt.execution.contained.classes import Classes, find_method, is_async
from njrt.execution.contained.contents import (
    MISSING,
    UNCHANGING,
    Image,
    Kind,
    StateError,
    find_reader,
    list_public,
)
from njrt.execution.contained.known import (
    CHILD_MODULES,
    HANDED,
    find_known_name,
    is_safe_error,
    list_arguments,
    make_error,
    resolve_known,
)
from njrt.execution.contained.state import ATOMS, Table, write_member
from njrt.execution.contained.wire import Data, WireError
from njrt.execution.gates import (
    CallRules,
    CarriedFunction,
    GatedFunction,
    carry_gated,
    find_gate,
    find_plain_function,
    wrap_gated,
)
from njrt.execution.scope.declared_fields import UNSET, find_field_problem, read_field_types
from njrt.execution.tracebacks import cut_middle
from njrt.values.introspection import (
    find_member,
    get_class_name,
    get_module_name,
    is_a,
    is_exactly,
    list_slots,
)

_DEFAULTS = (bool, int, float, complex, str, bytes, list, tuple, dict, set)
"""Types of class attributes that are the defaults of instances, also without an annotation."""


class Program:
    """The objects, classes and functions that a piece of code has (state: what was sent)."""

    def __init__(
        self,
        packages: Collection[str],
        modules: Mapping[str, ModuleType],
        list_owners: Callable[[str], Sequence[Any]] = lambda _: (),
    ) -> None:
        self.gate: Any = find_gate()
        self.asks_changes = self.gate is not None and self.gate.asks_changes
        self._rules: CallRules = self.gate.rules if self.gate else {}
        self.classes = Classes(packages, self._has_rule, self)
        self.table = Table(self)
        self.writable: set[int] = set()
        self.modules, self._list_owners = modules, list_owners
        self._allowed: dict[int, Any] = {}
        self._functions: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._new_functions: list[Data] = []
        self._hints: dict[type, dict[str, Any]] = {}

    def allow(self, value: Any) -> None:
        """Let the code call the functions and classes that a named value is or holds."""
        held: Iterator[Any] = iter(())
        if is_exactly(value, list, tuple, set, frozenset):
            held = iter(value)
        elif type(value) is dict:
            held = iter([*value.values()])
        for it in (value, *held):
            if callable(it):
                self._allowed[id(it)] = it

    def take_new(self) -> list[Data]:
        """Return the descriptions of classes and functions that the child does not have yet."""
        functions, self._new_functions = self._new_functions, []
        return [*self.classes.take_new(), *functions]

    def mark_writable(self, values: Iterable[Any]) -> None:
        """Let the code change what these values reach, but not through tuples or frozen objects."""
        table, classes = self.table, {"": True}
        waiting = [*values]
        while waiting:
            number = table.numbers.get(id(waiting.pop()))
            if number is None or number in self.writable:
                continue
            tag, name = table.kinds[number]
            if tag in UNCHANGING and tag != "remote":
                continue
            if name not in classes:
                is_own = ":" in name
                cls = type(table.objects[number])
                classes[name] = not is_own or self.classes.may_change(cls)
            if not classes[name]:
                continue
            self.writable.add(number)
            waiting += [it for it in chain(*table.known[number]) if type(it) not in ATOMS]

    # ── objects (see `state.Side`) ───────────────────────────────────────────────────────────────

    def write_special(self, value: Any) -> Data:
        if is_a(value, ModuleType):
            is_sent = value.__name__ in CHILD_MODULES or value.__name__ in self.modules
            return ["module", value.__name__] if is_sent else None
        if is_a(value, type):
            if known := find_known_name(value):
                return ["known", *known]
            if self.classes.find_form(value) != "handle":
                return ["class", self.classes.name(value)]
        elif is_a(value, enum.Enum) and self.classes.find_form(type(value)) == "enum":
            return write_member(self.classes.name(type(value)), value)
        is_data = not is_a(value, type) and self.classes.find_form(type(value)) != "handle"
        is_function = id(value) in self._allowed and not is_data
        return ["function", self._number(value)] if is_function else None

    def _number(self, function: Any) -> int:
        number = self._numbers.get(id(function))
        if number is None:
            number = self._numbers[id(function)] = len(self._functions)
            guarded = self.guard(function)
            self._functions.append(guarded)
            self._allowed[id(guarded)], self._numbers[id(guarded)] = guarded, number
            kind = function if is_a(function, type) else type(function)
            name = get_class_name(kind)
            if kind is not function:
                name = str(getattr(function, "__name__", name))
            self._new_functions.append({"function": [number, name, is_async(function)]})
        return number

    def read_special(self, data: list[Data]) -> Any:
        match data:
            case ["class", str(key)]:
                return self.classes.find(key)
            case ["member", str(key), str(name), _]:
                return self._find_enum(key).__members__[name]
            case ["member", str(key), None, int(number)]:
                return self._find_enum(key)(number)
            case ["function", int(number)] if number >= 0:
                return self._functions[number]
            case ["handed", str(name)] if name in HANDED:
                return HANDED[name]
            case ["module", str(name)] if name in self.modules:
                return self.modules[name]
            case ["module", str(name)] if name in CHILD_MODULES:
                return sys.modules[name]
        raise WireError("not a value")

    def _find_enum(self, key: str) -> Any:
        cls = self.classes.find(key)
        if self.classes.find_form(cls) != "enum":
            raise WireError("not an enum")
        return cls

    def find_kind(self, cls: type) -> Kind:
        form = self.classes.find_form(cls)
        if form == "handle":
            return form, f"{get_module_name(cls)}:{get_class_name(cls)}"
        if form == "error":
            if issubclass(cls, BaseExceptionGroup):
                raise StateError("a group of exceptions cannot be handed to contained code")
            known = find_known_name(cls)
            return form, "=" + ":".join(known) if known else self.classes.name(cls)
        return form, self.classes.name(cls)

    def make_empty(self, kind: Kind) -> Any:
        cls = self._find_data(*kind)
        if not self.classes.may_make(cls):
            raise StateError(
                f"contained code cannot make or copy a {cls.__name__} itself; it calls the class"
            )
        return object.__new__(cls)

    def _find_data(self, tag: str, name: str) -> type:
        cls = self.classes.find(name)
        if self.classes.find_form(cls) != tag or tag == "handle":
            raise WireError("not an object of this class")
        return cls

    def _find_error(self, name: str) -> type:
        module, _, path = name[1:].partition(":")
        try:
            cls = resolve_known(module, path) if name[:1] == "=" else self.classes.find(name)
        except (KeyError, AttributeError):
            raise WireError("no such exception") from None
        if not issubclass(cls, BaseException):
            raise WireError("not an exception")
        return cls

    def make_frozen(self, kind: Kind, members: list[Any]) -> Any:
        if kind[0] == "error":
            found = self._find_error(kind[1])
            if not is_safe_error(found) or not (kind[1][:1] == "=" or self.classes.may_make(found)):
                raise StateError(f"contained code cannot make a {found.__name__} without a call")
            return make_error(found, members[1:])
        cls: Any = self._find_data(*kind)
        if len(members) != len(cls._fields):
            raise WireError("not a named tuple")
        return tuple.__new__(cls, members)

    def read_error(self, error: Any) -> Image:
        try:
            text = cut_middle(str(error), 2000)
        except Exception as problem:
            text = f"<its message cannot be shown: {type(problem).__name__}>"
        is_known = find_known_name(type(error)) is not None
        names, values = ((), ()) if is_known else list_public(error)
        return names, (text, *list_arguments(error), *values)

    # ── what may change (see `apply`) ──────────────────────────────────────────────────────

    def check_change(self, number: int, value: Any) -> None:
        if number not in self.writable:
            raise StateError(
                f"a {type(value).__name__} that the block may only read was changed: what functions"
                " return, tuples hold or frozen classes have is only read"
            )

    def check_attribute(self, value: Any, name: str, new: Any) -> None:
        cls = type(value)
        if cls is SimpleNamespace:
            return
        if name[:1] == "_":
            raise StateError(f"`{name}` of a {cls.__name__} cannot be set in contained code")
        held = find_reader(cls)(value)
        if cls not in self._hints:
            self._hints[cls] = read_field_types(cls)
        hints = self._hints[cls]
        known, default = dict(list_slots(cls)), find_member(cls, name)
        is_known = name in hints or name in held or name in known or self._was_sent(cls, name)
        if not is_known and is_exactly(default, *_DEFAULTS):
            if type(new) is not type(default) and new is not MISSING:
                raise StateError(f"`{name}` of a {cls.__name__} is {get_class_name(type(default))}")
        elif not is_known and not any(it is value for it in self._list_owners(name)):
            raise StateError(f"`{name}` is no attribute of a {cls.__name__}")
        if callable(default) and not isinstance(default, type) and name not in hints:
            raise StateError(f"`{name}` of a {cls.__name__} is a method")
        if new is MISSING or name not in hints:
            return
        old = held.get(name, default if type(new) is type(default) else UNSET)
        if problem := find_field_problem(new, old, name, cls, hints):
            raise StateError(problem)

    def _was_sent(self, cls: type, name: str) -> bool:
        table = self.table
        pairs = zip(table.objects, table.known, strict=False)
        return any(type(it) is cls and name in names for it, (names, _) in pairs)

    # ── calls ────────────────────────────────────────────────────────────────────────────────────

    def find_call(self, target: Data) -> tuple[Callable[..., Any], bool]:
        """Return the function for a target of a call, and whether the code may change its result.

        Raises StateError, as a TypeError in the code, for what it may not call.
        """
        match target:
            case ["function", int(number)] if 0 <= number < len(self._functions):
                return self._functions[number], False
            case ["class", str(key)]:
                cls = self.classes.find(key)
                if id(cls) not in self._allowed:
                    raise StateError(
                        f"the prompt does not name the class {cls.__name__}, only an object of it"
                    )
                return cls, True
            case ["method" | "get" | "set" as kind, reference, str(name)]:
                return self._find_method(kind, reference, name)
        raise WireError("no such call")

    def _find_method(
        self, kind: str, reference: Data, name: str
    ) -> tuple[Callable[..., Any], bool]:
        owner = self.table.decode(reference)
        cls = owner if is_a(owner, type) else type(owner)
        if self.classes.find_form(cls) == "handle":
            raise WireError("not an object with methods")
        member = find_method(self.classes, cls, name)
        if cls is owner:
            if id(cls) not in self._allowed or not isinstance(member, classmethod | staticmethod):
                raise StateError(f"the prompt does not name the class {cls.__name__}")
        elif type(reference) is not list or reference[0] not in ("r", "member"):
            raise WireError("not an object with methods")
        is_writable = reference[0] != "r" or reference[1] in self.writable
        if kind == "get":
            return partial(getattr, owner, name), is_writable
        if kind == "set":
            if not is_writable or not hasattr(type(member), "__set__"):
                raise StateError(f"`{name}` of a {cls.__name__} cannot be set")
            if self.asks_changes:
                raise StateError(
                    f"`{name}` of a {cls.__name__} is set by a method, and changes are shown before"
                    " they are made: call a function that sets it"
                )
            return partial(setattr, owner, name), is_writable
        method = getattr(owner, name)
        is_own = member is not None
        return self.guard(method) if is_own else partial(self._call_model, method), is_writable

    def _call_model(self, method: Any, *args: Any, **options: Any) -> Any:
        """Call a method of pydantic; `update` may set what the code may set itself."""
        name, update = method.__name__, options.get("update") or {}
        if name == "model_dump_json" and options:  # an indent may fill the program's memory
            raise TypeError(f"`{name}` has no options in contained code; use json and model_dump()")
        try:
            for key, new in update.items() if name == "model_copy" else ():
                self.check_attribute(method.__self__, key, new)
        except StateError as error:
            raise TypeError(str(error)) from None
        return method(*args, **options)

    def _has_rule(self, function: Any) -> bool:
        try:
            return find_plain_function(function) in self._rules
        except TypeError:  # it has no hash
            return False

    def guard(self, value: Any) -> Any:
        """Return the gated form of a function that has a rule, or the value itself."""
        if not callable(value) or isinstance(value, type):
            return value
        if is_a(value, partial):
            gated = self.guard(value.func)
            is_same = gated is value.func
            return value if is_same else partial(gated, *value.args, **value.keywords)
        if not self._has_rule(value):
            return carry_gated(value)
        rule = self._rules[find_plain_function(value)]
        return CarriedFunction(wrap_gated(GatedFunction(value, rule), is_lent=True))
