"""How values of a type are written as JSON: the schema of the JSON, and the way back to the value.

    make_json_form(Literal["a", "b"])      schema {"enum": ["a", "b"], "type": "string"}
    make_json_form(Color)                  schema {"enum": ["RED", "BLUE"], ...}; "RED" decodes to Color.RED
    make_json_form(list[date])             schema {"type": "array", "items": {"type": "string", "format": "date"}}
    make_json_form(Callable[[], int])      TypeError: JSON does not carry functions

Scalars, literals, enums (by name), dataclasses, named tuples, TypedDicts, pydantic models, unions, collections,
dates and the like have a form. Functions, iterators, `Any` and classes without declared fields have none.
"""

from __future__ import annotations

import enum
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from functools import lru_cache, partial
from itertools import count, permutations
from types import FunctionType
from typing import Annotated, Any

from njrt.messages import Json, make_object_schema
from njrt.outcome import UserValue
from njrt.values.adapters import (
    DeclaredType,
    convert_classes,
    format_validation_errors,
    get_adapter,
)
from njrt.values.introspection import VALUE_CLASSES, is_user_class, read_attributes
from njrt.values.json_choices import (
    CONTAINER,
    KEYS,
    MEMBERS,
    NUMBERED,
    READ_KEY,
    SAME,
    ChoiceReader,
    JsonValue,
    find_equal_alternatives,
    get_reference_name,
    list_alternatives,
    list_constants,
)


@dataclass(frozen=True, slots=True, eq=False)
class JsonForm:
    """The JSON form of one type; `schema` is plain JSON schema (draft 2020-12) without titles."""

    declared: DeclaredType
    schema: Json
    schema_with_members: Json
    spelled: Mapping[str, str]
    """The names of enum members, by the values that appear in pydantic's errors."""

    def decode(self, value: JsonValue, objects: Sequence[UserValue] = ()) -> UserValue:
        """Convert a JSON value; raise ValueError, worded for the model, if it does not fit.

        `objects` are the objects that the value may choose by their numbers, counted from 1.
        """
        import pydantic

        schema, adapter = self.schema_with_members, get_adapter(self.declared)
        reader = ChoiceReader(schema, objects=objects)
        try:
            return adapter.validate_python(reader.read(value, schema))
        except pydantic.ValidationError as error:
            kinds = {problem["type"] for problem in error.errors(include_url=False)}
            if any(kind.endswith(("_type", "is_instance_of")) for kind in kinds):
                with suppress(ValueError, TypeError):  # strict types do not convert text or lists
                    return adapter.validate_python(reader.read(value, schema, in_union=True))
            problem = f"{format_validation_errors(error)};"
            for values, names in self.spelled.items():
                problem = problem.replace(values, names)
            raise ValueError(problem[:-1]) from None


def make_json_form(declared: DeclaredType, numbered: frozenset[type] = frozenset()) -> JsonForm:
    """Return the JSON form of a type; raise TypeError, with the reason, for a type that has none.

    Objects of the `numbered` classes are chosen by their numbers; if they are data, they may also be new.
    """
    try:
        return _make_json_form(declared, numbered)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        return _make_json_form.__wrapped__(declared, numbered)


@lru_cache(maxsize=256)
def _make_json_form(declared: DeclaredType, numbered: frozenset[type]) -> JsonForm:
    spelled: dict[str, str] = {}
    if numbered:
        declared = convert_classes(declared, partial(_keep_instances, numbered))
    schema = _generate_schema(declared, spelled, numbered)
    return JsonForm(declared, _clean(schema), schema, spelled)


def _keep_instances(numbered: frozenset[type], kind: type) -> DeclaredType:
    """Return a numbered class as a type with instances that pydantic keeps as they are."""
    from pydantic import BaseModel, InstanceOf, WrapValidator

    if kind not in numbered or is_dataclass(kind) or issubclass(kind, BaseModel):
        return kind
    if not issubclass(kind, tuple):
        instance_of: Any = InstanceOf
        return instance_of[kind]
    keep = WrapValidator(lambda value, make: value if isinstance(value, kind) else make(value))
    return Annotated[kind, keep]


def is_data_class(kind: type) -> bool:
    """Return whether a class's objects are no more than their fields: they are frozen, and have no public methods."""
    config = getattr(kind, "model_config", {})
    is_frozen = config.get("frozen") if hasattr(kind, "__pydantic_fields__") else is_record(kind)
    hooks = getattr(kind, "__pydantic_decorators__", None)
    groups = [getattr(hooks, each.name) for each in fields(hooks)] if hooks else []
    called_by_pydantic = {name for group in groups for name in group}
    return bool(is_frozen) and not any(
        isinstance(member, FunctionType | classmethod | staticmethod)
        and (name == "__call__" or not name.startswith("_"))
        and name not in called_by_pydantic
        for base in kind.__mro__
        if is_user_class(base)
        for name, member in vars(base).items()
    )


def is_record(kind: type) -> bool:
    """Return whether a class is a named tuple, or a frozen dataclass with the constructor of its fields."""
    if is_dataclass(kind):
        parameters: Any = getattr(kind, "__dataclass_params__", None)
        return bool(parameters.frozen) and not _has_own_constructor(kind)
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def is_unchangeable(value: UserValue) -> bool:
    """Return whether a value is known to be data that nothing can change, with everything that it holds."""
    kind = type(value)
    if kind in _UNCHANGEABLE or isinstance(value, enum.Enum):
        return True
    if kind.__name__ in VALUE_CLASSES.get(kind.__module__, ()):
        return True
    if isinstance(value, type):
        return issubclass(value, enum.Enum | BaseException)
    if kind in (tuple, frozenset) or is_data_class(kind):
        parts = value if isinstance(value, tuple | frozenset) else read_attributes(value).values()
        return all(map(is_unchangeable, parts))
    return False


_UNCHANGEABLE = (type(None), bool, int, float, complex, str, bytes, range)


def _list_shown_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields of a data class that its `repr` shows."""
    shown = getattr(kind, "__dataclass_fields__", getattr(kind, "__pydantic_fields__", {}))
    named: tuple[str, ...] = getattr(kind, "_fields", ())
    return named or tuple(name for name, field in shown.items() if field.repr)


def _generate_schema(
    declared: DeclaredType, spelled: dict[str, str], numbered: frozenset[type] = frozenset()
) -> Json:
    from pydantic.json_schema import GenerateJsonSchema
    from pydantic_core import SchemaError, SchemaValidator

    class Generator(GenerateJsonSchema):
        """Writes enums by name and named tuples as objects; refuses types that JSON does not have."""

        def offer(self, kind: type, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
            """Return the form of a class's objects: the number of one of the program's, or its fields."""
            if kind not in numbered:
                return make()
            number = {"type": "integer", NUMBERED: kind, "description": f"n of {kind.__name__} #n"}
            if not is_data_class(kind):
                return number
            return {"anyOf": [number, {**make(), SAME: (kind, _list_shown_fields(kind))}]}

        def is_instance_schema(self, schema: Any) -> dict[str, Any]:
            return self.offer(schema["cls"], _refuse("its class declares no fields"))

        def enum_schema(self, schema: Any) -> dict[str, Any]:
            members = {member.name: member for member in schema["members"]}
            if not members:
                raise TypeError("an enum has no members")
            *most, last = [repr(member.value) for member in members.values()]
            values = f"{', '.join(most)} or {last}" if most else last
            spelled[f" be {values};"] = f" be {' or '.join(map(repr, members))};"
            return {"type": "string", "enum": list(members), MEMBERS: _Members(members)}

        def literal_schema(self, schema: Any) -> dict[str, Any]:
            expected = schema["expected"]
            if any(isinstance(value, bytes) for value in expected):
                raise TypeError("JSON does not carry bytes in a Literal")
            members = {value.name: value for value in expected if isinstance(value, enum.Enum)}
            spelled.update({repr(member): repr(name) for name, member in members.items()})
            others = [value for value in expected if not isinstance(value, enum.Enum)]
            if len(set(others)) < len(others):
                raise TypeError("values of its Literal are equal")
            parts = [self.enum_schema({"members": [*members.values()]})] if members else []
            if others:
                parts.append(super().literal_schema({"type": "literal", "expected": others}))
            return {"anyOf": parts} if len(parts) > 1 else parts[0]

        def encode_default(self, dft: Any) -> Any:
            if isinstance(dft, enum.Enum) and dft.name is not None:
                return dft.name
            if type(dft) in (list, tuple) and any(isinstance(item, enum.Enum) for item in dft):
                return [self.encode_default(item) for item in dft]
            return super().encode_default(dft)

        def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
            found = super().typed_dict_schema(schema)
            names = found.get("properties", {}).keys() - found.get("required", ())
            return {**found, _OPTIONAL: sorted(names)} if names else found

        def field_is_present(self, field: Any) -> bool:
            return bool(field.get("init", True)) and super().field_is_present(field)

        def named_tuple_schema(self, schema: Any) -> dict[str, Any]:
            def make() -> dict[str, Any]:
                fields = schema["fields"]
                parts = {each["name"]: self.generate_inner(each["schema"]) for each in fields}
                return {**make_object_schema(parts), CONTAINER: tuple}

            return self.offer(schema["cls"], make)

        def call_schema(self, schema: Any) -> dict[str, Any]:
            # For named tuples, before pydantic 2.14.
            found = partial(self.kw_arguments_schema, schema["arguments_schema"], None)
            return self.offer(schema["function"], lambda: {**found(), CONTAINER: tuple})

        def decimal_schema(self, schema: Any) -> dict[str, Any]:
            forms = _list_forms(super().decimal_schema(schema))
            return {"anyOf": [{**form, CONTAINER: Decimal} for form in forms]}

        def union_schema(self, schema: Any) -> dict[str, Any]:
            choices = [part[0] if isinstance(part, tuple) else part for part in schema["choices"]]
            forms = [_list_forms(self.generate_inner(part)) for part in choices]
            for one, other in permutations(range(len(forms)), 2):
                kinds = choices[one]["type"], choices[other]["type"]
                if {*kinds} <= _PLAIN_KINDS and all(form in forms[other] for form in forms[one]):
                    raise TypeError(f"JSON does not tell {kinds[0]} and {kinds[1]} apart")
            return super().union_schema(schema)

        def dataclass_schema(self, schema: Any) -> dict[str, Any]:
            def make() -> dict[str, Any]:
                if _has_own_constructor(schema["cls"]):
                    raise TypeError(f"`{schema['cls'].__name__}` is made by code of its own")
                made = super(Generator, self).dataclass_schema(schema)
                return {**made, CONTAINER: schema["cls"]}

            return self.offer(schema["cls"], make)

        def model_schema(self, schema: Any) -> dict[str, Any]:
            def make() -> dict[str, Any]:
                container = {} if schema.get("root_model") else {CONTAINER: schema["cls"]}
                return {**super(Generator, self).model_schema(schema), **container}

            return self.offer(schema["cls"], make)

        def dict_schema(self, schema: Any) -> dict[str, Any]:
            keys = schema.get("keys_schema", {})
            if keys and not _are_texts(keys):
                raise TypeError("names in JSON are texts, which do not stand for its keys")
            kind = keys.get("type")
            named = {"propertyNames": self.generate_inner(keys)} if kind == "union" else {}
            reading: dict[str, Any] = {}
            with suppress(SchemaError):  # its types refer to themselves
                reading = {READ_KEY: SchemaValidator(keys).validate_python} if keys else {}
            return {**super().dict_schema(schema), **named, KEYS: kind, **reading}

    for kind in (set, frozenset, tuple):
        name = f"{kind.__name__}_schema"
        setattr(Generator, name, _mark_container(getattr(GenerateJsonSchema, name), kind))
    for name, reason in _WITHOUT_FORM.items():
        setattr(Generator, f"{name}_schema", _refuse(reason))
    if "*tuple[" in str(declared):  # pydantic mistakes it for a tuple
        raise TypeError("an unpacked tuple has no form")
    try:
        schema: Json = get_adapter(declared).json_schema(schema_generator=Generator)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "Unable to generate pydantic-core schema" in reason:
            reason = "it, or a part of it, is a class that declares no fields"
        raise TypeError(reason) from None
    if equal := find_equal_alternatives(schema):
        raise TypeError(f"JSON does not tell {equal[0]} and {equal[1]} apart")
    return schema


_OPTIONAL = "x-optional"
"""The key under which a TypedDict's schema holds the names that may be left out."""

_WITHOUT_FORM = {
    "any": "its values may be anything",
    "callable": "JSON does not carry functions",
    "custom_error": "JSON does not carry classes",
    "generator": "JSON does not carry iterators",
    "is_subclass": "JSON does not carry classes",
}
"""The kinds in pydantic's core that have no form, and why."""


def _mark_container(generate: Callable[..., Any], kind: type) -> Callable[..., Any]:
    return lambda self, schema: {**generate(self, schema), CONTAINER: kind}


def _refuse(reason: str) -> Callable[..., Any]:
    def refuse(*_: Any) -> Any:
        raise TypeError(reason)

    return refuse


def _has_own_constructor(made: type) -> bool:
    """Return whether a dataclass has a custom `__init__` or `__new__`, which pydantic would bypass."""
    if hasattr(made, "__pydantic_validator__"):
        return False
    init: Any = made.__init__  # type: ignore[misc]
    new: Any = made.__new__
    file = getattr(getattr(init, "__code__", None), "co_filename", "")
    return file != "<string>" or new is not object.__new__


def _list_forms(schema: Json) -> Sequence[Json]:
    return list_alternatives(schema) or [schema]


_PLAIN_KINDS = frozenset(
    {"str", "int", "float", "decimal", "list", "tuple", "set", "frozenset", "dict", "bytes"}
)
"""The kinds of types with alternatives that pydantic drops from a union if their forms are the same."""

_KINDS_WITHOUT_TEXT = frozenset(
    {
        *("nullable", "none", "tuple", "list", "set", "frozenset", "dict", "model", "dataclass"),
        *("typed-dict", "named-tuple", "call", "tagged-union"),
    }
)


def _are_texts(keys: Any) -> bool:
    """Return whether names in a JSON object can represent all the keys in a schema of pydantic's core."""
    match keys["type"]:
        case "literal":
            return all(isinstance(value, str | enum.Enum) for value in keys["expected"])
        case "union":
            choices = [part[0] if isinstance(part, tuple) else part for part in keys["choices"]]
            return all(part["type"] in ("literal", "enum") and _are_texts(part) for part in choices)
        case kind:
            return kind not in _KINDS_WITHOUT_TEXT


class _Members(dict[str, enum.Enum]):
    """An enum's members by name, inside a schema; pydantic copies schemas, but members must not be copied."""

    def __deepcopy__(self, memo: Any) -> _Members:
        return self


_KEYWORDS = {
    *("type", "format", "enum", "const", "$ref", "anyOf", "oneOf", "allOf", "items", "prefixItems"),
    *("minItems", "maxItems", "uniqueItems", "properties", "required", "additionalProperties"),
    *("propertyNames", "minLength", "maxLength", "pattern", "minimum", "maximum", "$defs"),
    "description",
    *("exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minProperties", "maxProperties"),
}


def _clean(schema: Json) -> dict[str, Any]:
    """Return a schema without titles and defaults, and with enum members as a description."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            kept[key] = {name: _clean(inner) for name, inner in value.items()}
        elif key in _KEYWORDS:
            kept[key] = _clean_part(value)
        elif key == MEMBERS:
            meanings = [f"{name} = {member.value!r}" for name, member in value.items()]
            kept["description"] = "; ".join(meanings)
    tags = [name for name, part in kept.get("properties", {}).items() if "const" in part]
    if tags:  # a union's discriminator is never left out, even if it has a default
        kept["required"] = list(dict.fromkeys([*kept.get("required", ()), *tags]))
    return kept


def _clean_part(value: JsonValue) -> JsonValue:
    if isinstance(value, Mapping):
        return _clean(value)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [_clean(inner) for inner in value]
    return value


def move_definitions(schema: Json, definitions: dict[str, Json]) -> Json:
    """Move the `$defs` of a schema's parts to their shared root, renaming different classes of the same name."""
    own = schema.get("$defs", {})
    for number in count(1):
        names = {name: name if number == 1 else f"{name}_{number}" for name in own}
        found = {names[name]: _move(part, definitions, names) for name, part in own.items()}
        if all(definitions.get(name, part) == part for name, part in found.items()):
            break
    definitions.update(found)
    rest = {key: value for key, value in schema.items() if key != "$defs"}
    moved: Json = _move(rest, definitions, names)
    return moved


def _move(value: Any, definitions: dict[str, Json], names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_move(part, definitions, names) for part in value]
    if not isinstance(value, Mapping):
        return value
    if "$defs" in value:
        return move_definitions(value, definitions)
    moved = {key: _move(part, definitions, names) for key, part in value.items()}
    if isinstance(value.get("$ref"), str):
        name = get_reference_name(value)
        moved["$ref"] = f"#/$defs/{names.get(name, name)}"
    return moved


# ── schemas as text, for models that do not read schemas ─────────────────────────────────────────


def describe_schema(schema: Json) -> str:
    """Return a schema as an example that people and small models grasp immediately: `{"name": string}`.

    Definitions that are used more than once, or in themselves, follow by name; `= VALUE` is an optional part's default.
    """
    definitions, counts = schema.get("$defs", {}), Counter(_list_references(schema))
    written: dict[str, str] = {}
    named: dict[str, str] = {}

    def refer(name: str) -> str:
        if name not in definitions or name in named:
            return name
        if name not in written:
            if is_recursive := _is_recursive(name, definitions):
                named[name] = ""
            text = _describe(definitions[name], refer)
            is_shared = is_recursive or (counts[name] > 1 and len(text) > _MIN_SHARED)
            (named if is_shared else written)[name] = text
        return written.get(name, name)

    text = _describe(schema, refer)
    meanings = [f"{name} is {named[name]}" for name in counts if name in named]
    return f"{text}, where {'; '.join(meanings)}" if meanings else text


def _is_recursive(name: str, definitions: Json) -> bool:
    """Return whether a definition refers to itself, perhaps through others."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        inner = definitions.get(waiting.pop(), {})
        new = {part for part in _list_references(inner) if part not in found}
        found |= new
        waiting += new
    return name in found


def _list_references(schema: JsonValue) -> list[str]:
    """Return the names of the definitions that a schema refers to, once per reference."""
    if isinstance(schema, list):
        return [name for part in schema for name in _list_references(part)]
    if not isinstance(schema, Mapping):
        return []
    own = [get_reference_name(schema)] if isinstance(schema.get("$ref"), str) else []
    return own + [name for part in schema.values() for name in _list_references(part)]


_MIN_SHARED = 40
"""Descriptions of definitions longer than this are not repeated."""

# Without quotes, because small models copy them.
_SCALAR_DESCRIPTIONS = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "true | false",
    "null": "null",
}
_FORMAT_DESCRIPTIONS = {
    "date": '"YYYY-MM-DD"',
    "time": '"HH:MM:SS"',
    "date-time": '"YYYY-MM-DDTHH:MM:SS"',
    "duration": '"a duration such as PT1H30M"',
}


def _describe(schema: Json, refer: Callable[[str], str]) -> str:
    if NUMBERED in schema:
        return f"{schema[NUMBERED].__name__} number"
    if choices := list_constants(schema):
        return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    if alternatives := list_alternatives(schema):
        found = (_describe(choice, refer) for choice in alternatives)
        return " | ".join(dict.fromkeys(found))
    if "$ref" in schema:
        return refer(get_reference_name(schema))
    match schema.get("type"):
        case "object" if "properties" in schema:
            notes = dict.fromkeys(schema.get(_OPTIONAL, ()), " (may be left out)")
            inner = [
                f'"{name}"{notes.get(name, "")}: {_describe(part, refer)}{_format_default(part)}'
                for name, part in schema["properties"].items()
            ]
            return f"{{{', '.join(inner)}}}"
        case "object":
            others = schema.get("additionalProperties")
            shown = others if isinstance(others, Mapping) else {}
            return f"{{string: {_describe(shown, refer)}, ...}}"
        case "array" if "prefixItems" in schema or schema.get("maxItems") == 0:
            fixed = [_describe(part, refer) for part in schema.get("prefixItems", ())]
            return f"[{', '.join(fixed)}]"
        case "array":
            return f"[{_describe(schema.get('items', {}), refer)}, ...]"
        case "string" if schema.get("format") in _FORMAT_DESCRIPTIONS:
            return _FORMAT_DESCRIPTIONS[schema["format"]]
        case kind:
            return _SCALAR_DESCRIPTIONS.get(str(kind), "any value")


def _format_default(schema: Json) -> str:
    """Return the default of a field that may be left out, as ` = "medium"`."""
    if "default" not in schema or "const" in schema:
        return ""
    return f" = {json.dumps(schema['default'], ensure_ascii=False)}"


def describe_object(forms: Mapping[str, JsonForm]) -> str:
    """Return an object with properties of these forms, as `describe_schema` writes it."""
    definitions: dict[str, Json] = {}
    parts = {
        name: move_definitions(form.schema_with_members, definitions)
        for name, form in forms.items()
    }
    return describe_schema({"type": "object", "properties": parts, "$defs": definitions})
