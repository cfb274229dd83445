"""Check that code can change only its copies, so that it may run beside the program.

    find_outside_access("basket.add(item)", lookup, classes)     None if `Basket.add` only works on its own object
    find_outside_access("notify(user)", lookup, classes)         "`notify` uses the module smtplib"

Bytecode is followed into the functions, classes and methods that it can reach. A method is reached if its name is
used as an attribute anywhere, or is special (`__eq__`). Everything not known to be harmless counts as outside access.
Not detected: a class that is passed to a function and changed there, attributes named in a format string, and
pydantic models' validators.
"""

from __future__ import annotations

import abc
import builtins
import dis
import enum
import types
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

from njrt.execution.guard.allowed import IMPORTABLE_MODULES, REFUSED_ATTRIBUTES
from njrt.execution.syntax import parse_python
from njrt.outcome import UserValue
from njrt.scope.scope import Absent, Bound, read_cell
from njrt.values.copying import is_kept
from njrt.values.introspection import (
    get_class_name,
    get_class_namespace,
    get_module_name,
    get_mro,
    is_a,
    is_exactly,
    is_standard_module,
)

Lookup = Callable[[str], Bound | Absent]
"""Returns the value of a name."""

COMPUTING_MODULES = (IMPORTABLE_MODULES - {"asyncio", "operator", "pprint", "random", "time"}) | {
    "_collections_abc",
    "builtins",
    "reprlib",
}
"""Standard library modules that change nothing that a program could notice."""

_SCHEMA_LIBRARIES = {"attr", "attrs", "pydantic", "pydantic_core", "typing_extensions"}

_COMPUTING_BUILTINS = frozenset([
    "abs", "aiter", "all", "anext", "any", "ascii", "bin", "bool", "bytearray", "bytes",
    "callable", "chr", "classmethod", "complex", "dict", "divmod", "enumerate", "filter",
    "float", "format", "frozenset", "hash", "hex", "id", "int", "isinstance", "issubclass",
    "iter", "len", "list", "map", "max", "min", "next", "object", "oct", "ord", "pow",
    "property", "range", "repr", "reversed", "round", "set", "slice", "sorted", "staticmethod",
    "str", "sum", "super", "tuple", "type", "zip", "NotImplemented", "Ellipsis",
    "__build_class__", "__name__", "__debug__",
])  # fmt: skip
_SNIPPET_BUILTINS = _COMPUTING_BUILTINS | {"ask", "dir", "locals", "print", "vars"}
"""Names of builtins that are harmless in a block, some as the runtime's functions that act only on the block."""

_METACLASSES: tuple[type, ...] = (type, abc.ABCMeta, enum.EnumMeta)
_HARMLESS_USES = frozenset([
    "BINARY_OP", "BINARY_SUBSCR", "CALL", "CALL_KW", "CHECK_EXC_MATCH", "COMPARE_OP", "IS_OP",
    "KW_NAMES", "LOAD_ATTR", "LOAD_METHOD", "PRECALL", "RAISE_VARARGS", "TO_BOOL",
])  # fmt: skip
"""The instructions that may follow when a class is pushed onto the stack."""

_WRAPPER = "async def snippet():\n for _ in ():\n  pass\n"


class _OutsideError(Exception):
    """The code reaches something outside; the message names it."""


def find_outside_access(code: str, lookup: Lookup, classes: Collection[type]) -> str | None:
    """Describe an object outside the copies that a snippet, or showing these classes, can reach; None without one.

    Raises SyntaxError, ValueError or RecursionError for code that cannot be parsed.
    """
    search = _Search(lookup)
    compiled = _compile_snippet(code) if code.strip() else None
    try:
        for cls in classes:
            search.visit_class(cls)
        if compiled is not None:
            search.visit_code(compiled, search.resolve_in_snippet, "the code", frozenset())
        search.finish()
    except _OutsideError as outside:
        return str(outside)
    return None


def find_outside_value(value: UserValue, lookup: Lookup) -> str | None:
    """Describe an outside object that a function or class in the program's data can reach; None without one."""
    search = _Search(lookup)
    try:
        search.visit_value("a value of the data", value)
        search.finish()
    except _OutsideError as outside:
        return str(outside)
    return None


def _compile_snippet(code: str) -> types.CodeType:
    """Compile the code as the body of a loop in a coroutine function, where jumps and `await` are legal."""
    tree = parse_python(_WRAPPER)
    body: list[Any] = parse_python(code).body
    function: Any = tree.body[0]
    function.body[0].body = body
    compiled = compile(tree, "<snippet>", "exec", dont_inherit=True)
    return next(part for part in compiled.co_consts if isinstance(part, types.CodeType))


class _Search:
    """Follows code into the objects that it uses (state: the visited functions and classes, the attributes used)."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._attributes: set[str] = set()
        self._classes: dict[type, None] = {}
        self._functions: dict[int, types.FunctionType] = {}

    def resolve_in_snippet(self, name: str) -> UserValue:
        """Visit the value of a name in the snippet, and return it; copies may be used freely."""
        found = self._lookup(name)
        if not isinstance(found, Bound):
            return None
        is_given = name in _SNIPPET_BUILTINS and found.value is getattr(builtins, name, found.value)
        is_foreign = callable(found.value) and type(found.value) not in self._classes
        if not is_given and (is_kept(found.value) or is_foreign):
            self.visit_value(name, found.value)
        return found.value

    def finish(self) -> None:
        """Visit the methods of all classes that have a used name, until there are no new ones."""
        size = -1
        while size != (size := len(self._attributes) + len(self._classes) + len(self._functions)):
            for cls in tuple(self._classes):
                for name, member in get_class_namespace(cls).items():
                    if name in self._attributes or _is_special(name):
                        for function in _list_functions(member):
                            self.visit_function(function)

    def visit_value(self, name: str, value: UserValue) -> None:
        """Visit a value that code loads by a name, or that is bound to it as a default."""
        cls = type(value)
        if is_a(value, type):
            self._visit_named_class(name, value)
        elif cls is types.FunctionType:
            self.visit_function(value)
        elif is_a(value, types.ModuleType):
            _require_computing(f"`{name}`", value.__name__)
        elif cls is types.BuiltinFunctionType:
            owner = getattr(value, "__self__", None)
            module = owner.__module__ if is_a(owner, type) else value.__module__
            is_builtin = module == "builtins" and value.__name__ not in _COMPUTING_BUILTINS
            if is_builtin and not is_a(owner, type):
                raise _OutsideError(f"`{name}` is used")
            _require_computing(f"`{name}`", module)
        elif is_exactly(value, tuple, frozenset):
            for item in value:
                self.visit_value(name, item)
        elif is_a(value, enum.Enum):
            self.visit_class(cls)
        elif not (is_kept(value) or _is_constant(value)):
            raise _OutsideError(f"`{name}` is shared with the program and can change")

    def _visit_named_class(self, name: str, cls: type) -> None:
        module = get_module_name(cls)
        if module == "builtins":
            if name in _COMPUTING_BUILTINS or issubclass(cls, BaseException):
                return
            if cls.__name__ not in _COMPUTING_BUILTINS:
                raise _OutsideError(f"`{name}` is used")
        elif is_standard_module(module):
            _require_computing(f"`{name}`", module)
        else:
            self.visit_class(cls)

    def visit_function(self, function: types.FunctionType) -> None:
        """Visit a function: its code, its defaults, and the values that its code loads."""
        if id(function) in self._functions:
            return
        self._functions[id(function)] = function
        code, name = function.__code__, function.__name__
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        if (library := _find_library_module(code.co_filename)) is not None:
            _require_computing(f"`{name}`", library)
            for cell in cells.values():
                held = read_cell(cell)
                if type(held) is types.FunctionType:
                    self.visit_function(held)
            return
        module = function.__globals__

        def resolve(read: str) -> UserValue:
            if read in cells or read in module:
                value = read_cell(cells[read]) if read in cells else module[read]
                if read != "__class__":
                    self.visit_value(read, value)
                return value
            if (
                hasattr(builtins, read)
                and read not in _COMPUTING_BUILTINS
                and not _is_exception(read)
            ):
                raise _OutsideError(f"`{name}` uses `{read}`")
            return None

        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.visit_value(name, default)
        self.visit_code(code, resolve, f"`{name}`", frozenset())

    def visit_code(
        self,
        code: types.CodeType,
        resolve: Callable[[str], UserValue],
        what: str,
        around: frozenset[str],
    ) -> None:
        """Visit bytecode; `around` are the variables of the enclosing visited code."""
        instructions = [
            instruction
            for instruction in dis.get_instructions(code)
            if instruction.opname not in ("CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL", "NOT_TAKEN")
        ]
        own = around | {*code.co_cellvars}
        is_generated = code.co_qualname.startswith("__create_fn__")  # by dataclasses
        changes_attributes = uses_type = False
        for instruction, following in zip(instructions, [*instructions[1:], None], strict=True):
            operation, name = instruction.opname, str(instruction.argval)
            if operation in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                raise _OutsideError(f"{what} changes the global variable `{name}`")
            if operation in ("STORE_DEREF", "DELETE_DEREF") and name not in own:
                raise _OutsideError(
                    f"{what} changes the variable `{name}` of the function around it"
                )
            if operation == "IMPORT_NAME":
                _require_computing(what, name)
            elif operation in _GLOBAL_LOADS or (
                operation in _CELL_LOADS and name in code.co_freevars and name not in own
            ):
                value = resolve(name)
                uses_type |= value is type or (value is None and name == "type")
                is_called = operation == "LOAD_GLOBAL" and bool((instruction.arg or 0) & 1)
                is_class = is_a(value, type) and value in self._classes and name != "__class__"
                next_name = "" if following is None else following.opname
                if is_class and not (is_called or is_generated or next_name in _HARMLESS_USES):
                    raise _OutsideError(f"{what} may change the class `{name}`")
            elif operation in _ATTRIBUTE_USES:
                if name in REFUSED_ATTRIBUTES:
                    raise _OutsideError(f"{what} uses `{name}`")
                self._attributes.add(name)
                uses_type |= name == "__class__"
                changes_attributes |= operation in ("STORE_ATTR", "DELETE_ATTR")
        if changes_attributes and uses_type and not is_generated:
            raise _OutsideError(f"{what} may change a class")
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.visit_code(constant, resolve, what, own)

    def visit_class(self, cls: type) -> None:
        """Visit a program's class and its ancestors: values shared by their instances must not change."""
        if cls in self._classes:
            return
        is_schema = any(
            get_module_name(base).partition(".")[0] in _SCHEMA_LIBRARIES for base in get_mro(cls)
        )
        if type(cls) not in _METACLASSES and not is_schema:
            raise _OutsideError(f"the class `{get_class_name(cls)}` has a custom metaclass")
        for base in get_mro(cls):
            module = get_module_name(base)
            if is_standard_module(module):
                _require_computing(f"`{get_class_name(base)}`", module)
            elif module.partition(".")[0] in _SCHEMA_LIBRARIES:
                continue
            elif base not in self._classes:
                self._classes[base] = None
                self._visit_shared_values(base)

    def _visit_shared_values(self, cls: type) -> None:
        is_enumeration = is_a(cls, enum.EnumMeta)
        for name, member in get_class_namespace(cls).items():
            if _is_special(name) or name.startswith(("_abc_", "_field_defaults")):
                continue
            if is_enumeration and name.startswith("_"):
                continue
            if not _list_functions(member) and type(member).__name__ not in _FIELD_DESCRIPTORS:
                label = f"{get_class_name(cls)}.{name}"
                if not (is_enumeration and is_a(member, cls)):
                    is_wrapped = "pydantic" in type(member).__module__  # the default of a field
                    self.visit_value(
                        label, getattr(member, "wrapped", member) if is_wrapped else member
                    )


_FIELD_DESCRIPTORS = ("member_descriptor", "getset_descriptor", "_tuplegetter")
_GLOBAL_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_CELL_LOADS = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_ATTRIBUTE_USES = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR", "DELETE_ATTR")


def _list_functions(member: Any) -> tuple[types.FunctionType, ...]:
    """Return the functions behind a class member, such as a method or a property."""
    found: tuple[Any, ...]
    if is_a(member, property):
        found = (member.fget, member.fset, member.fdel)
    elif is_a(member, cached_property):
        found = (member.func,)
    else:
        found = (getattr(member, "__func__", member),)
    return tuple(function for function in found if type(function) is types.FunctionType)


def _is_constant(value: UserValue) -> bool:
    return value is None or is_exactly(
        value, bool, int, float, complex, str, bytes, range, type(...), type(NotImplemented),
    ) or type(value).__module__ in ("dataclasses", "typing", "typing_extensions")  # fmt: skip


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_exception(name: str) -> bool:
    found = getattr(builtins, name, None)
    return is_a(found, type) and issubclass(found, BaseException)  # type: ignore[arg-type]


def _find_library_module(filename: str) -> str | None:
    """Return the top-level name of the standard library module with this file; None for other files."""
    if filename.startswith("<frozen "):
        return filename[8:-1].partition(".")[0]
    path = filename.replace("\\", "/")
    if not path.startswith(_LIBRARY) or "-packages" in path:
        return None
    return path.removeprefix(_LIBRARY).partition("/")[0].partition(".")[0]


_LIBRARY = enum.__file__.replace("\\", "/").removesuffix("enum.py")


def _require_computing(name: str, module: str | None) -> None:
    """Raise `_OutsideError` unless the module only computes."""
    top = (module or "").partition(".")[0].removeprefix("_")
    if top not in COMPUTING_MODULES and f"_{top}" not in COMPUTING_MODULES:
        raise _OutsideError(f"{name} uses the module {module}")
