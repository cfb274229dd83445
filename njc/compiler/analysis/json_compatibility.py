"""Types that JSON can represent.

    find_json_problem(dict[str, date])  None
    find_json_problem(list[Callable])   JsonProblem("JSON does not carry `Callable`")
    find_json_problem(Cat | Dog)        JsonProblem("JSON does not tell `Cat` and `Dog` apart", ...)

Not detected: classes in other modules, and aliases that refer to themselves without a class in
between, which count as having no JSON form; limits and validators.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations

from njc.compiler.analysis.class_members import (
    DATA_BASES,
    ENUM_BASES,
    FLAG_BASES,
    MODEL_BASES,
    DeclaredTypes,
    is_dataclass,
)
from njc.compiler.analysis.types import SCALARS, ClassDefinition, Typed, list_for_checkers
from njc.compiler.frontend.prompt_references import parse_type
from njrt.data.aliases import Json
from njrt.data.records import record
from njrt.values.json_unions import (
    CONTAINER,
    KEYS,
    MEMBERS,
    JsonValue,
    are_alike,
    flatten_alternatives,
    list_constants,
)

_WITHOUT_JSON = frozenset({"complex", "fractions.Fraction"})
_ABSTRACT_COLLECTIONS = frozenset(
    f"collections.abc.{name}" for name in ("Sequence", "Mapping", "Collection", "Set")
)
_JSON_CONTAINERS = _ABSTRACT_COLLECTIONS | {"list", "dict", "tuple", "set", "frozenset"}
_MAPPINGS = ("dict", "collections.abc.Mapping")
_NEUTRAL_BASES = frozenset({"object", "abc.ABC", "str", "int", "float"})
"""Bases that add no fields; the last three are enum bases."""
_TEXT: Json = {"type": "string"}
_DECIMAL_TEXT: Json = {"type": "string", "format": "decimal"}
_SCALAR_FORMS: Mapping[str, Json] = {
    "None": {"type": "null"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "Decimal": {"anyOf": [{"type": "number", CONTAINER: Decimal}, _DECIMAL_TEXT]},
    **{
        name: {"type": "string", "format": form}
        for name, form in (
            *(("date", "date"), ("datetime", "date-time"), ("time", "time")),
            *(("timedelta", "duration"), ("UUID", "uuid")),
        )
    },
}
"""The forms of scalars; all other scalars are texts."""
_NEVER_JSON = frozenset({"typing.Any", "object", "typing.Callable", "type"})


MAX_PARTS = 10_000
"""The maximum number of parts in a type; a class's parts count each time that it occurs."""


@record
class JsonProblem:
    """Why JSON cannot represent a type's values, and how to change the type."""

    reason: str
    remedy: str = ""
    is_certain: bool = True
    """Whether JSON cannot represent it; otherwise the definition is not at hand."""


# ── types that JSON can represent ────────────────────────────────────────────────────────────────


def find_json_problem(typed: Typed, types: DeclaredTypes) -> JsonProblem | None:
    """Return why JSON cannot represent all values of a type; None if it can."""
    reader = _FormReader(types)
    try:
        reader.read(typed)
    except _NoFormError as error:
        return JsonProblem(*error.args)
    return reader.find_equal()


def read_json_form(typed: Typed, types: DeclaredTypes) -> tuple[Json | None, Json]:
    """Return the JSON schema of a type, None without one, and the root that it refers to."""
    reader = _FormReader(types)
    try:
        return reader.read(typed), {"$defs": reader.definitions}
    except _NoFormError:
        return None, {}


class _NoFormError(Exception):
    """A type has no JSON schema; the arguments are the fields of a `JsonProblem`."""


@dataclass(slots=True)
class _FormReader:
    """Reads the JSON schemas of types, including members, in the form of njrt.values.json_forms."""

    types: DeclaredTypes
    around: list[tuple[str, bool]] = field(default_factory=list)
    """The aliases and classes that contain the current type, and whether each is a class."""
    definitions: dict[str, Json] = field(default_factory=dict)
    """The schemas of aliases and classes, which recursive schemas refer to."""
    unions: list[tuple[Sequence[Typed], Sequence[Json]]] = field(default_factory=list)
    containers: list[ast.expr] = field(default_factory=list)
    """The containers around the current type."""
    parts_read: int = 0
    dicts: list[bool] = field(default_factory=list)
    """Whether each class around the current type is a `TypedDict`."""

    def read(self, typed: Typed) -> Json:
        if hidden := find_name_for_checkers(typed, self.types):
            raise _NoFormError(
                f"`{hidden}` is there for type checkers only",
                f"import `{hidden}` outside of `if TYPE_CHECKING:`",
            )
        expanded = self.types.expand(typed)
        alias = str(typed) if expanded is not typed else ""
        if alias and (known := self.find_around(alias)) is not None:
            return known
        self.around.append((alias, False))
        try:
            found = self.types.union_parts(expanded)
            parts = [*{(str(part), part.scope): part for part in found}.values()]
            forms = [self.read_part(part) for part in parts]
        finally:
            self.around.pop()
        self.unions.append((parts, forms))
        return self.define(alias, forms[0] if len(forms) == 1 else {"anyOf": forms})

    def find_around(self, name: str) -> Json | None:
        """Return the form of a name used inside its own definition; None outside it."""
        for index, (outer, is_class) in enumerate(self.around):
            if outer == name:
                if is_class or any(inner for _, inner in self.around[index:]):
                    self.define(name, {})  # until it has been read
                    return {"$ref": _escape(name)}
                raise _NoFormError(f"the alias `{name}` refers to itself")
        return None

    def define(self, name: str, form: Json) -> Json:
        self.definitions[_escape(name)] = form
        return form

    def find_equal(self) -> JsonProblem | None:
        """Return union parts that no JSON value distinguishes, as a problem."""
        root = {"$defs": self.definitions}
        for parts, forms in self.unions:
            for one, other in combinations(range(len(parts)), 2):
                if are_alike(forms[one], forms[other], root):
                    pair = [parts[one], parts[other]]
                    are_classes = all(self.types.class_of_type(part) for part in pair)
                    tag = f'`kind: Literal["{str(pair[0]).lower()}"]`'
                    remedy = f"give each a field that identifies it, such as {tag}" * are_classes
                    reason = f"JSON does not tell `{pair[0]}` and `{pair[1]}` apart"
                    return JsonProblem(reason, remedy)
        return None

    def read_part(self, typed: Typed) -> Json:
        self.parts_read += 1
        if self.parts_read > MAX_PARTS:
            raise _NoFormError(f"the type has more than {MAX_PARTS:,} parts, `{typed}` among them")
        name = self.types.name_of(typed)
        if name in SCALARS and name not in _WITHOUT_JSON:
            return _SCALAR_FORMS.get(name.rpartition(".")[2], _TEXT)
        if name == "typing.Literal" and isinstance(typed.annotation, ast.Subscript):
            return self.read_literal(typed, typed.annotation.slice)
        if isinstance(typed.annotation, ast.Subscript) and name in _JSON_CONTAINERS:
            if typed.annotation in self.containers:
                raise _NoFormError(f"`{typed}` refers to itself")
            self.containers.append(typed.annotation)
            form = self.read_container(name, typed, typed.annotation.slice)
            self.containers.pop()
            return form
        found = self.types.class_of_type(typed)
        if found is None:
            is_never = name in (*_NEVER_JSON, *_WITHOUT_JSON, *_JSON_CONTAINERS)
            is_never |= not name and not isinstance(typed.annotation, ast.Attribute)
            is_collection = name.startswith("collections")
            if is_never or is_collection or isinstance(typed.annotation, ast.Subscript):
                raise _NoFormError(f"JSON does not carry `{typed}`")
            raise _NoFormError(
                f"njc does not see whether JSON carries `{typed}`",
                'write `effects="answer"` on the block, if it does',
                False,
            )
        return self.find_around(_name_class(found[0])) or self.read_class(typed, found)

    def read_literal(self, typed: Typed, inner: ast.expr) -> Json:
        values: list[JsonValue] = []
        members: dict[str, object] = {}
        for part in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
            match part:
                case ast.Attribute(value=owner, attr=name):
                    found = self.types.class_of_type(typed.inside(owner))
                    members[name] = found[0] if found else sys.intern(ast.unparse(owner))
                case ast.Constant(value=value):
                    values.append(value)
                case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
                    values.append(-number)
                case _:
                    values.append(part)
        if any(isinstance(value, bytes) for value in values):
            raise _NoFormError("JSON does not carry bytes in a Literal")
        if len(set(values)) < len(values):
            raise _NoFormError(f"values of `Literal[{ast.unparse(inner)}]` are equal")
        forms = [_make_members_form(members)] * bool(members) + [{"enum": values}] * bool(values)
        return forms[0] if len(forms) == 1 else {"anyOf": forms}

    def read_container(self, name: str, typed: Typed, inner: ast.expr) -> Json:
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        is_open = isinstance(parts[-1:][0] if parts else None, ast.Constant) and (
            getattr(parts[-1], "value", None) is ...
        )
        forms = [self.read(typed.inside(part)) for part in (parts[:-1] if is_open else parts)]
        if name in _MAPPINGS:
            if len(forms) != 2 or not self.are_texts(forms[0]):
                raise _NoFormError(f"JSON cannot represent the keys of `{typed}`")
            keys, values = forms
            form = {"type": "object", "propertyNames": keys, "additionalProperties": values}
            return {**form, KEYS: True}
        if name == "tuple" and not is_open:
            return {"type": "array", "prefixItems": forms, CONTAINER: tuple}
        container = {CONTAINER: tuple} if name == "tuple" else {}
        return {"type": "array", "items": forms[0] if forms else {}, **container}

    def are_texts(self, keys: Json) -> bool:
        """Return whether the names in a JSON object can represent all keys."""
        parts = [*flatten_alternatives([keys], {"$defs": self.definitions})]
        if all(map(list_constants, parts)):
            return all(isinstance(value, str) for part in parts for value in list_constants(part))
        if any(map(list_constants, parts)):
            return False
        kinds = {(part.get("type"), part.get("format")) for part in parts}
        is_decimal = kinds == {("number", None), ("string", "decimal")}
        are_simple = all(kind in ("string", "integer", "number", "boolean") for kind, _ in kinds)
        return are_simple and (len(kinds) == 1 or is_decimal)

    def read_class(self, typed: Typed, found: ClassDefinition) -> Json:
        node, _ = found
        bases = set(self.types.list_base_names(found))
        known = bases & (ENUM_BASES | DATA_BASES)
        if bases & FLAG_BASES:
            raise _NoFormError(f"JSON does not carry combinations of `{node.name}`")
        if bases & ENUM_BASES:
            return _make_members_form(dict.fromkeys(list_members(node), node))
        if not (known or is_dataclass(node)):
            raise _NoFormError(f"JSON does not carry `{typed}`, which declares no fields")
        if is_dataclass(node) and _has_own_constructor(node):
            raise _NoFormError(f"`{node.name}` is made by code of its own")
        if strange := self.find_strange_base(found):
            raise _NoFormError(
                f"njc does not see the fields of `{strange}`",
                'write `effects="answer"` on the block, if JSON carries them',
                False,
            )
        if not bases & MODEL_BASES and (local := self.types.find_unresolved_name(found)):
            raise _NoFormError(
                f"`{local}`, in the fields of `{node.name}`, is not found at run time",
                f"define `{local}` at the top level of the module",
            )
        is_dict = "typing.TypedDict" in bases
        if is_dict and not all(self.dicts) and self.types.is_from_typing(found):
            raise _NoFormError(
                f"before Python 3.12, pydantic reads no `typing.TypedDict`, such as `{node.name}`,"
                " in fields",
                "import `TypedDict` from `typing_extensions`",
            )
        self.around.append((_name_class(node), True))
        self.dicts.append(is_dict)
        try:
            fields: dict[str, Json] = {}
            for name, field_type in self.types.list_fields(found):
                is_private = bases & MODEL_BASES and name.startswith("_")
                if is_private or name == "_" or name in _list_computed(node):
                    continue
                fields[name] = self.read(field_type)
        finally:
            self.around.pop()
            self.dicts.pop()
        if not fields:
            raise _NoFormError(f"JSON does not carry `{typed}`, which declares no fields")
        container = {CONTAINER: tuple} if "typing.NamedTuple" in bases else {}
        optional = set(self.types.list_optional_fields(found))
        required = [name for name in fields if container or name not in optional]
        form = {"type": "object", "properties": fields, "required": required, **container}
        return self.define(_name_class(node), form)

    def find_strange_base(self, found: ClassDefinition) -> str | None:
        """Return a base of a class with unknown fields."""
        known = DATA_BASES | _NEUTRAL_BASES
        for base in found[0].bases:
            typed = Typed(base, found[1])
            inner = self.types.class_of_type(typed)
            if inner is not None:
                if (strange := self.find_strange_base(inner)) is not None:
                    return strange
            elif self.types.name_of(typed) not in known:
                return str(typed)
        return None


def _name_class(node: ast.ClassDef) -> str:
    """Return the name of a class's definition; classes in different classes may share a name."""
    return f"{node.name}:{node.lineno}"


def _escape(name: str) -> str:
    """Return a name as part of a JSON pointer (RFC 6901), where `/` separates parts."""
    return name.replace("/", "~1")


def _make_members_form(members: Mapping[str, object]) -> Json:
    """Return the form of enum members: their names."""
    return {"type": "string", "enum": [*members], MEMBERS: members}


def list_members(node: ast.ClassDef) -> list[str]:
    """Return the names of an enum's members."""
    return [
        target.id
        for statement in node.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]


def _has_own_constructor(node: ast.ClassDef) -> bool:
    """Return whether a dataclass has an `__init__` or `__new__` not generated from its fields."""
    names = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
    has_methods = not names.isdisjoint({"__init__", "__new__"})
    return has_methods or any(map(_is_without_init, node.decorator_list))


def _is_without_init(call: ast.expr | None) -> bool:
    """Return whether an expression is a call with `init=False`."""
    return isinstance(call, ast.Call) and any(
        keyword.arg == "init" and ast.unparse(keyword.value) == "False" for keyword in call.keywords
    )


def _list_computed(node: ast.ClassDef) -> list[str]:
    """Return a dataclass's fields not taken by its constructor: `y: int = field(init=False)`."""
    return [
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and _is_without_init(statement.value)
    ]


_UNIONS = ("typing.Optional", "typing.Union")


def find_name_for_checkers(typed: Typed, types: DeclaredTypes) -> str | None:
    """Return a name at a type's outermost level that is bound only under `if TYPE_CHECKING:`."""
    if not types.has_names_for_checkers:
        return None
    match typed.annotation:
        case ast.Constant(value=str(text)) if (parsed := parse_type(text)) is not None:
            return find_name_for_checkers(typed.inside(parsed), types)
        case ast.Name(id=name) if (home := types.find_home(name, typed.scope)) is not None:
            found = types.find_statements_binding(name, home)
            hidden = list_for_checkers(home)
            return name if found and all(id(one) in hidden for one in found) else None
        case ast.Attribute(value=part):
            return find_name_for_checkers(typed.inside(part), types)
        case ast.BinOp(left=left, right=right):
            parts = [left, right]
        case ast.Subscript(value=value, slice=ast.Tuple(elts=[first, *_])) if (
            types.name_of(typed) == "typing.Annotated"
        ):
            parts = [value, first]
        case ast.Subscript(value=value, slice=inner) if types.name_of(typed) in _UNIONS:
            parts = [value, *(inner.elts if isinstance(inner, ast.Tuple) else [inner])]
        case ast.Subscript(value=value):
            parts = [value]
        case _:
            return None
    found_names = (find_name_for_checkers(typed.inside(part), types) for part in parts)
    return next(filter(None, found_names), None)
