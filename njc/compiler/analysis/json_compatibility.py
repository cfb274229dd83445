"""Types that JSON can represent.

    find_json_problem(dict[str, date])  None
    find_json_problem(list[Callable])   JsonProblem("JSON does not carry `Callable`")
    find_json_problem(Cat | Dog)        JsonProblem("JSON does not tell `Cat` and `Dog` apart", ...)

Not detected: classes in other modules, and types that refer to themselves without a class in
between, which count as having no JSON form; limits and validators; classes of
a function in fields; before Python 3.12, a `TypedDict` of `typing` in a field, which pydantic does
not read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from njc.compiler.analysis.class_members import (
    DATA_BASES,
    ENUM_BASES,
    FLAG_BASES,
    DeclaredTypes,
    is_dataclass,
)
from njc.compiler.analysis.types import (
    SCALARS,
    TYPE_PREFIXES,
    ClassDefinition,
    Typed,
    list_for_checkers,
)
from njc.compiler.frontend.prompt_references import list_variables
from njrt.data.aliases import Json
from njrt.data.records import record
from njrt.values.json_unions import (
    KEY_KINDS,
    MEMBERS,
    NAMED_TUPLE,
    JsonValue,
    find_equal_alternatives,
    flatten_alternatives,
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
_SCALAR_FORMS: Mapping[str, Json] = {
    "None": {"type": "null"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "decimal.Decimal": {"anyOf": [{"type": "number"}, _TEXT]},
}
"""The forms of scalars; all other scalars are texts."""
MAX_DEPTH = 50
"""The maximum depth of a type, including the fields of its classes."""


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
        form = reader.read(typed)
    except _NoFormError as error:
        return JsonProblem(*error.args)
    if equal := find_equal_alternatives({**form, "$defs": reader.definitions}):
        remedy = 'use one, or give each class a field that identifies it: `kind: Literal["cat"]`'
        return JsonProblem(f"JSON does not tell `{equal[0]}` and `{equal[1]}` apart", remedy)
    return None


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
    definitions: dict[str, Json] = field(default_factory=dict)
    """The schemas of classes, empty until they have been read."""
    depth: int = 0

    def read(self, typed: Typed) -> Json:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _NoFormError(f"`{typed}` refers to itself, or is nested too deeply")
        expanded = self.types.expand(typed)
        for part in (typed, expanded):
            if hidden := find_name_for_checkers(part, self.types):
                raise _NoFormError(
                    f"`{hidden}` is there for type checkers only",
                    f"import `{hidden}` outside of `if TYPE_CHECKING:`",
                )
        parts = {(str(it), it.scope): it for it in self.types.union_parts(expanded)}.values()
        forms = [{**self.read_part(part), "title": str(part)} for part in parts]
        self.depth -= 1
        return forms[0] if len(forms) == 1 else {"anyOf": forms}

    def read_part(self, typed: Typed) -> Json:
        name = self.types.name_of(typed)
        if name in SCALARS and name not in _WITHOUT_JSON:
            return _SCALAR_FORMS.get(name, _TEXT)
        if isinstance(typed.annotation, ast.Subscript):
            inner = typed.annotation.slice
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if name == "typing.Literal":
                return self.read_literal(typed, parts)
            if name in _JSON_CONTAINERS:
                return self.read_container(name, typed, parts)
        found = self.types.class_of_type(typed)
        if found is not None:
            key = f"{found[0].name}:{found[0].lineno}"
            if key not in self.definitions:
                self.definitions[key] = {}
                self.definitions[key] = self.read_class(typed, found)
            return {"$ref": key}
        is_elsewhere = "." in name or (not name and isinstance(typed.annotation, ast.Attribute))
        is_known = name.startswith(TYPE_PREFIXES) or name in _WITHOUT_JSON
        if is_known or not is_elsewhere or isinstance(typed.annotation, ast.Subscript):
            raise _NoFormError(f"JSON does not carry `{typed}`")
        raise _NoFormError(
            f"njc does not see whether JSON carries `{typed}`",
            'write `effects="answer"` on the block, if it does',
            False,
        )

    def read_literal(self, typed: Typed, parts: Sequence[ast.expr]) -> Json:
        values: list[JsonValue] = []
        members: dict[str, object] = {}
        for part in parts:
            match part:
                case ast.Attribute(value=owner, attr=name):
                    members[name] = self.types.class_of_type(typed.inside(owner))
                    values.append(name)
                case ast.Constant(value=value) if not isinstance(value, bytes):
                    values.append(value)
                case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
                    values.append(-number)
                case _:
                    raise _NoFormError(f"JSON does not carry `{ast.unparse(part)}` in a Literal")
        kind = _TEXT if all(isinstance(value, str) for value in values) else {}
        return {**kind, "enum": values, **({MEMBERS: members} if members else {})}

    def read_container(self, name: str, typed: Typed, parts: Sequence[ast.expr]) -> Json:
        is_open = any(isinstance(it, ast.Constant) and it.value is ... for it in parts[-1:])
        forms = [self.read(typed.inside(part)) for part in (parts[:-1] if is_open else parts)]
        if name in _MAPPINGS:
            keys = [*flatten_alternatives(forms[:1], {"$defs": self.definitions})]
            if len(forms) != 2 or len(keys) != 1 or keys[0].get("type") not in KEY_KINDS:
                raise _NoFormError(f"JSON cannot represent the keys of `{typed}`")
            return {"type": "object", "additionalProperties": forms[1]}
        return {"type": "array", "prefixItems": forms}

    def read_class(self, typed: Typed, found: ClassDefinition) -> Json:
        node, _ = found
        bases = set(self.types.list_base_names(found))
        if bases & FLAG_BASES:
            raise _NoFormError(f"JSON does not carry combinations of `{node.name}`")
        if bases & ENUM_BASES:
            members = {
                target.id: node
                for statement in node.body
                if isinstance(statement, ast.Assign)
                for target in statement.targets
                if isinstance(target, ast.Name)
            }
            return {**_TEXT, "enum": [*members], MEMBERS: members}
        if not (bases & DATA_BASES or is_dataclass(node)):
            raise _NoFormError(f"JSON does not carry `{typed}`, which declares no fields")
        if is_dataclass(node) and _has_own_constructor(node):
            raise _NoFormError(f"`{node.name}` is made by code of its own")
        for base in self.list_strange_bases(found):
            raise _NoFormError(
                f"njc does not see the fields of `{base}`",
                'write `effects="answer"` on the block, if JSON carries them',
                False,
            )
        fields = {
            name: self.read(declared)
            for name, declared in self.types.list_fields(found)
            if not name.startswith("_")  # private to a model, or the mark `_: KW_ONLY`
        }
        is_tuple = "typing.NamedTuple" in bases
        return {"type": "object", "properties": fields, **({NAMED_TUPLE: True} if is_tuple else {})}

    def list_strange_bases(self, found: ClassDefinition) -> Iterator[Typed]:
        """Yield the bases of a class with unknown fields."""
        for node, scope in self.types.walk_bases(found):
            for base in (Typed(each, scope) for each in node.bases):
                is_here = self.types.class_of_type(base) is not None
                if not is_here and self.types.name_of(base) not in DATA_BASES | _NEUTRAL_BASES:
                    yield base


def _has_own_constructor(node: ast.ClassDef) -> bool:
    """Return whether a dataclass has an `__init__` or `__new__` not generated from its fields."""
    names = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
    options = [
        it for call in node.decorator_list if isinstance(call, ast.Call) for it in call.keywords
    ]
    return not names.isdisjoint({"__init__", "__new__"}) or any(
        option.arg == "init" and ast.unparse(option.value) == "False" for option in options
    )


def find_name_for_checkers(typed: Typed, types: DeclaredTypes) -> str | None:
    """Return a name in a type that is bound only under `if TYPE_CHECKING:`."""
    for name in list_variables(typed.annotation) if types.has_names_for_checkers else ():
        home = types.find_home(name, typed.scope)
        found = types.find_statements_binding(name, home) if home is not None else []
        if home and found and {id(one) for one in found} <= list_for_checkers(home):
            return name
    return None
