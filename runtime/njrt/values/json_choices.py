"""Choose a union's alternative for a JSON value, enum members for the names in it, and objects for their numbers.

    "RED", schema of Color | None            ──ChoiceReader──>   Color.RED
    [2], schema of list[Item]                ──ChoiceReader──>   [items[1]]
    {"n": 1}, schema of Cat | Order          ──ChoiceReader──>   {"n": 1}, with the enum members in `Order`'s fields
    "2024-02-29", schema of date | str       ──ChoiceReader──>   date(2024, 2, 29): text that is a date is not a `str`

Schemas come from njrt.values.json_forms, with enum members. Pydantic checks the values afterwards. Not detected:
limits such as lengths and patterns, and alternatives that only a validator can distinguish.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from itertools import permutations
from typing import Any, ClassVar

from njrt.messages import Json, WrittenFloat
from njrt.outcome import UserValue
from njrt.records import record
from njrt.values.adapters import get_adapter

JsonValue = Any
"""A value as returned by `json.loads`."""

MEMBERS = "x-members"
"""The key under which a schema holds an enum's members by name, until the schema is sent anywhere."""


KINDS_OF_FORMATS: Mapping[str, str] = {
    "date": "date",
    "date-time": "datetime",
    "time": "time",
    "duration": "timedelta",
    "uuid": "uuid",
}
"""Formats that distinguish a value from other text, with their kinds in pydantic's core."""
_KINDS_OF_KEYS = frozenset({*KINDS_OF_FORMATS.values(), "int", "float"})
"""The kinds of keys that are not just text."""

CONTAINER = "x-container"
"""Schema key for the class of a value that is not a list, dict or text, such as a tuple or dataclass."""

KEYS = "x-keys"
"""The key under which a dict's schema holds the kind of its keys, as named in pydantic's core."""

READ_KEY = "x-read-key"
"""The key under which a dict's schema holds the function that converts its keys."""

NUMBERED = "x-numbered"
"""The key under which a schema holds the class of the numbered objects that it chooses from."""

SAME = "x-same"
"""The key under which a class's schema holds the class and the fields that distinguish its numbered objects."""

_DATES = ("date", "date-time", "time")


def resolve_reference(schema: JsonValue, root: Json) -> JsonValue:
    """Return the schema that a reference refers to; any other schema unchanged."""
    while isinstance(schema, dict) and "$ref" in schema:
        schema = root.get("$defs", {}).get(get_reference_name(schema), {})
    return schema


def get_reference_name(schema: Json) -> str:
    """Return the name of the definition that a reference refers to."""
    return str(schema["$ref"].rpartition("/")[2])


def list_alternatives(schema: Json) -> Sequence[Json]:
    """Return the alternatives of a union; empty for any other schema."""
    found: Sequence[Json] = schema.get("anyOf") or schema.get("oneOf") or ()
    return found


def flatten_alternatives(alternatives: Sequence[Json], root: Json) -> Iterator[Json]:
    """Yield the alternatives of a union, with nested unions replaced by their alternatives."""
    for part in alternatives:
        schema = resolve_reference(part, root)
        inner = list_alternatives(schema)
        yield from flatten_alternatives(inner, root) if inner else [schema]


def find_member(value: JsonValue, members: Mapping[str, Any]) -> UserValue | None:
    """Return the enum member for a name, which may be an alias; None if there is no such member."""
    if not isinstance(value, str) or not members:
        return None
    every = type(next(iter(members.values()))).__members__
    found = members.get(value)
    if found is None and (alias := every.get(value)) in members.values():
        found = alias
    return found


def is_one_of(value: JsonValue, choices: Sequence[JsonValue]) -> bool:
    """Return whether a value is one of some constants; `1` and `true` are different."""
    return any(type(value) is type(choice) and value == choice for choice in choices)


@dataclass(slots=True)
class SchemaMatcher:
    """Decides whether values have the forms of schemas."""

    root: Json
    fitting: dict[tuple[int, int], bool] = field(default_factory=dict)
    """By the ids of value and schema, which live as long as this object, so that each pair is matched once."""
    whole: ClassVar[tuple[type, ...]] = (int,)
    """The types of whole numbers."""

    def fits(self, value: JsonValue, schema: JsonValue) -> bool:
        """Return whether a value has the form of a schema."""
        key = id(value), id(schema)
        if key not in self.fitting:
            self.fitting[key] = self.check_fit(value, resolve_reference(schema, self.root))
        return self.fitting[key]

    def check_fit(self, value: JsonValue, schema: JsonValue) -> bool:
        if not isinstance(schema, Mapping):
            return True
        if constants := list_constants(schema):
            return is_one_of(value, constants)
        if alternatives := list_alternatives(schema):
            return any(self.fits(value, part) for part in alternatives)
        match schema.get("type"):
            case "string":
                return isinstance(value, str)
            case "boolean":
                return isinstance(value, bool)
            case "integer":
                return isinstance(value, self.whole) and not isinstance(value, bool)
            case "number":
                return isinstance(value, int | float) and not isinstance(value, bool)
            case "null":
                return value is None
            case "array":
                return isinstance(value, list) and self.has_fitting_items(value, schema)
            case "object":
                return self.has_fitting_properties(value, schema)
        return True

    def has_fitting_items(self, value: list[JsonValue], schema: Json) -> bool:
        fixed = schema.get("prefixItems")
        if fixed is None:
            return all(self.fits(item, schema.get("items")) for item in value)
        return len(value) == len(fixed) and all(map(self.fits, value, fixed))

    def has_fitting_properties(self, value: JsonValue, schema: Json) -> bool:
        raise NotImplementedError


@dataclass(slots=True)
class ChoiceReader(SchemaMatcher):
    """Reads values of one schema (`root`), which may choose from `objects` by numbers counted from 1."""

    objects: Sequence[UserValue] = ()

    def read(
        self,
        value: JsonValue,
        schema: JsonValue,
        place: tuple[str, ...] = (),
        in_union: bool = False,
    ) -> UserValue:
        """Replace the texts of members of enums, and of dates and the like in unions; return the same value without any.

        Numbers are replaced by the objects that they choose, and so are objects' fields if repeated in full.
        With `in_union`, dates and the like, bytes, tuples and sets are made everywhere: strict types, and
        alternatives that pydantic tells apart by their Python types, do not convert them.
        Raises ValueError, with the place, for values that no type accepts: numbers that are not finite, text with
        lone surrogates, numbers in place of dates, names of fields that do not exist.
        """
        if not isinstance(schema, dict):
            schema = {}
        elif "$ref" in schema:
            schema = resolve_reference(schema, self.root)
        check_value(value, schema, place)
        if MEMBERS in schema:
            return self.read_member(value, schema[MEMBERS], place)
        if NUMBERED in schema:
            return self.read_number(value, schema[NUMBERED], place)
        if alternatives := list_alternatives(schema):
            fitting = [part for part in alternatives if self.fits(value, part)]
            if not fitting:
                return self.read_misfit(value, alternatives, place)
            best = resolve_reference(min(fitting, key=self.get_rank(value)), self.root)
            found = self.read(value, best, place, True)
            is_doubtful = len(fitting) > 1 and isinstance(found, dict)
            return _make_instance(found, best.get(CONTAINER)) if is_doubtful else found
        match value:
            case str() if in_union and schema.get("format") in KINDS_OF_FORMATS:
                return read_kind(KINDS_OF_FORMATS[schema["format"]], value)
            case str() if in_union and schema.get("format") == "binary":
                return value.encode()  # like pydantic, unless the type is strict
            case str() | int() | float() if schema.get(CONTAINER) is Decimal:
                written = getattr(value, "digits", value)
                return read_kind("decimal", written) if can_read("decimal", written) else value
            case WrittenFloat():
                return float(value)
            case list():
                fixed: Sequence[Json] = schema.get("prefixItems", ())
                schemas = [*fixed, *[schema.get("items")] * len(value)]
                items = [
                    self.read(item, schemas[index], (*place, str(index)), in_union)
                    for index, item in enumerate(value)
                ]
                if in_union and (kind := schema.get(CONTAINER)) in (tuple, set, frozenset):
                    return kind(items)  # an array never becomes a class with fields
                is_same = all(new is old for new, old in zip(items, value, strict=True))
                return value if is_same else items
            case dict():
                known, others = schema.get("properties", {}), schema.get("additionalProperties")
                check_names(value, schema, place)
                number = {"type": "number"} if schema.get(KEYS) == "float" else {}
                keys = resolve_reference(schema.get("propertyNames", number), self.root)
                pairs: dict[Any, Any] = {}
                names: dict[Any, str] = {}
                for name, item in value.items():
                    check_value(name, keys, place)
                    key = made = self.read_key(name, schema, in_union)
                    with suppress(ValueError):  # pydantic's own message has the place
                        made = schema[READ_KEY](key) if READ_KEY in schema else key
                    if names.setdefault(made, name) != name:
                        message = f"{names[made]!r} and {name!r} are the same key"
                        raise ValueError(at_place(message, place))
                    pairs[key] = self.read(item, known.get(name, others), (*place, name), in_union)
                if SAME in schema:
                    return self.find_same(pairs, *schema[SAME])
                is_same = all(name in value and value[name] is pairs[name] for name in pairs)
                return value if is_same else pairs
        return value

    def read_member(
        self, value: JsonValue, members: Mapping[str, Any], place: tuple[str, ...]
    ) -> UserValue:
        """Return the member of this name; other values are left to pydantic, which also knows members by value."""
        found = find_member(value, members)
        if found is not None:
            return found
        has_value = is_one_of(value, [member.value for member in members.values()])
        kind = type(next(iter(members.values())))
        if has_value or "_missing_" in vars(kind):
            return value
        names = " or ".join(repr(name) for name in kind.__members__ if name in members)
        raise ValueError(at_place(f"Input should be {names}", place))

    def read_number(self, value: JsonValue, kind: type, place: tuple[str, ...]) -> UserValue:
        """Return the object with this number; raise ValueError for anything else."""
        numbers = [it for it, each in enumerate(self.objects, 1) if isinstance(each, kind)]
        if type(value) is not int or value not in numbers:
            known = f"; the numbers are {numbers[0]} to {numbers[-1]}" if numbers else ""
            message = f"{value!r} is not the number of an object of `{kind.__name__}`{known}"
            raise ValueError(at_place(message, place))
        return self.objects[value - 1]

    def find_same(self, fields: Json, kind: type, names: Sequence[str]) -> UserValue:
        """Return the known object with these fields, or else a new one; the fields themselves if they do not fit."""
        try:
            made = get_adapter(kind).validate_python(fields)
        except ValueError:  # pydantic's own message has the place
            return fields
        for known in self.objects:
            is_same = type(known) is type(made)
            if is_same and all(getattr(known, name) == getattr(made, name) for name in names):
                return known
        return made

    def read_misfit(
        self, value: JsonValue, alternatives: Sequence[Json], place: tuple[str, ...]
    ) -> UserValue:
        """Return a value that fits no alternative, for pydantic to reject or convert, but never a number to a date."""
        parts = list(flatten_alternatives(alternatives, self.root))
        kinds = {part.get("type") for part in parts}
        is_number = kinds <= {"integer", "object", "null"} and not isinstance(value, dict)
        new = [part[SAME][0] for part in parts if SAME in part]
        for kind in (part[NUMBERED] for part in parts if NUMBERED in part):
            if is_number or kind not in new:
                return self.read_number(value, kind, place)
        classes = [part for part in parts if "properties" in part]
        if isinstance(value, dict) and len(classes) == 1:
            check_names(value, classes[0], place)
        if isinstance(value, str) or not kinds & {"number", "integer", "boolean"}:
            for part in parts:
                check_value(value, part, place)
        return value

    def read_key(self, name: str, schema: Json, in_union: bool) -> UserValue:
        """Return the dict key for a name."""
        if in_union and schema.get(KEYS) in (*_KINDS_OF_KEYS, "bytes"):
            return read_kind(schema[KEYS], name)
        keys = resolve_reference(schema.get("propertyNames", {}), self.root)
        parts = [resolve_reference(part, self.root) for part in list_alternatives(keys) or [keys]]
        for part in parts:
            if (member := find_member(name, part.get(MEMBERS, {}))) is not None:
                return member
        return name

    def get_rank(self, value: JsonValue) -> Callable[[Json], tuple[int, int, int]]:
        """Return the order of fitting alternatives: constants, formatted text, most of the value's names, decimals."""

        def rank(part: Json) -> tuple[int, int, int]:
            schema = resolve_reference(part, self.root)
            if inner := list_alternatives(schema):
                return min(rank(choice) for choice in inner if self.fits(value, choice))
            if MEMBERS in schema or list_constants(schema):
                return 0, 0, 0
            if schema.get("format") in KINDS_OF_FORMATS or schema.get(KEYS) in _KINDS_OF_KEYS:
                return 1, 0, 0
            if schema.get(CONTAINER) is Decimal:
                return 2, 1, 0
            known = schema.get("properties", {})
            names = value.keys() if isinstance(value, dict) else known.keys()
            return 2, -len(known.keys() & names), len(known.keys() - names)

        return rank

    def check_fit(self, value: JsonValue, schema: JsonValue) -> bool:
        if isinstance(schema, Mapping) and MEMBERS in schema:
            return find_member(value, schema[MEMBERS]) is not None
        is_fit = SchemaMatcher.check_fit(self, value, schema)
        is_text = isinstance(value, str) and isinstance(schema, Mapping)
        if not is_fit or not is_text or schema.get("type") != "string" or list_constants(schema):
            return is_fit
        return is_text_of(value, schema.get("format"))

    def has_fitting_properties(self, value: JsonValue, schema: Json) -> bool:
        if not isinstance(value, dict):
            return False
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        if not value.keys() >= set(schema.get("required", ())):
            return False
        if others is False and not value.keys() <= known.keys():
            return False
        if KEYS in schema and not all(self.has_fitting_key(name, schema) for name in value):
            return False
        return all(self.fits(item, known.get(name, others)) for name, item in value.items())

    def has_fitting_key(self, name: str, schema: Json) -> bool:
        if schema[KEYS] in _KINDS_OF_KEYS:
            return can_read(schema[KEYS], name)
        return "propertyNames" not in schema or self.fits(name, schema["propertyNames"])


def _make_instance(value: UserValue, kind: type | None) -> UserValue:
    """Make an instance of a class that pydantic would not choose; if that fails, return the value."""
    if kind is None or kind is tuple:
        return value
    with suppress(ValueError):
        value = get_adapter(kind).validate_python(value)
    return value


def check_names(value: Mapping[str, JsonValue], schema: Json, place: tuple[str, ...]) -> None:
    """Raise ValueError for an unknown name in an object."""
    known = schema.get("properties", {})
    if KEYS in schema or not known or schema.get("additionalProperties"):
        return
    accepted = known.keys() | _list_other_names(schema.get(CONTAINER))
    for name in value:
        if name not in accepted:
            fields = ", ".join(f"`{field}`" for field in known)
            raise ValueError(
                at_place(f"there is no field `{name}`; the fields are {fields}", place)
            )


def _list_other_names(kind: Any) -> set[str]:
    """Return the names of fields that a pydantic model accepts besides those in its schema."""
    config = getattr(kind, "model_config", {})
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    names: set[str] = set()
    for name, field_ in getattr(kind, "__pydantic_fields__", {}).items():
        names |= {name} if by_name else set()
        names |= {it for it in getattr(field_.validation_alias, "choices", ()) if type(it) is str}
    return names


def check_value(value: JsonValue, schema: Json, place: tuple[str, ...]) -> None:
    """Raise ValueError for a value that no type accepts here, although pydantic would accept it."""
    match value:
        case float() if not math.isfinite(value):
            raise ValueError(at_place("Input should be a finite number", place))
        case str() if schema.get("type") == "number" and value.strip(" +-").lower() in _NOT_FINITE:
            raise ValueError(at_place("Input should be a finite number", place))
        case str() if not value.isascii() and value.encode(errors="ignore").decode() != value:
            raise ValueError(at_place("Input should be text without lone surrogates", place))
        case str() | int() | float() if schema.get("format") in _DATES and is_number(value):
            form = schema["format"]
            raise ValueError(at_place(f"Input should be a text in the format {form}", place))


_NOT_FINITE = ("nan", "inf", "infinity")


def is_number(value: str | int | float) -> bool:
    """Return whether a value is a number, or numeric text that would be read as seconds."""
    return not isinstance(value, str) or value.strip().replace(".", "", 1).lstrip("+-").isdigit()


def is_text_of(text: str, form: str | None) -> bool:
    """Return whether text has a format from `KINDS_OF_FORMATS`; True for other formats."""
    if form is None or form not in KINDS_OF_FORMATS:
        return True
    is_long = len(text) > len("YYYY-MM-DD")
    is_whole = {"date": not is_long, "date-time": is_long}.get(form, True)
    return is_whole and not is_number(text) and can_read(KINDS_OF_FORMATS[form], text)


@lru_cache
def _make_validator(kind: str) -> Any:
    from pydantic_core import SchemaValidator

    return SchemaValidator({"type": kind})


def read_kind(kind: str, text: str | float) -> UserValue:
    """Read text or a number as a kind in pydantic's core, such as `date`; raise ValueError if it does not fit."""
    return _make_validator(kind).validate_python(text)


def can_read(kind: str, text: str | float) -> bool:
    """Return whether text or a number can be read as a kind."""
    try:
        read_kind(kind, text)
    except ValueError:
        return False
    return True


def at_place(message: str, place: tuple[str, ...]) -> str:
    """Return a message prefixed with the place in the value that it is about."""
    return f"{'.'.join(place)}: {message}" if place else message


def list_constants(schema: Json) -> Sequence[JsonValue]:
    """Return the values that a schema lists; empty for any other schema."""
    if "const" in schema:
        return [schema["const"]]
    constants: Sequence[JsonValue] = schema.get("enum", ())
    return constants


# ── union alternatives that no JSON value distinguishes ──────────────────────────────────────────


def find_equal_alternatives(schema: Json) -> tuple[str, str] | None:
    """Return the names of two alternatives of a union if no JSON value means only the first; else None."""
    comparer = FormComparer(schema)
    for union in _list_unions(schema):
        parts = [part for part in union if part.get("type") != "null"]
        for one, other in permutations(parts, 2):
            if comparer.is_hidden(one, other):
                return comparer.get_name(one), comparer.get_name(other)
    return None


def _list_unions(schema: JsonValue) -> Iterator[Sequence[Json]]:
    if isinstance(schema, list):
        for part in schema:
            yield from _list_unions(part)
    elif isinstance(schema, Mapping):
        if alternatives := list_alternatives(schema):
            yield alternatives
        for key, part in schema.items():
            if key in ("properties", "$defs"):
                yield from _list_unions(list(part.values()))
            elif key not in (MEMBERS, "default", "examples"):
                yield from _list_unions(part)


@record
class FormComparer:
    """Compares the forms of a schema's alternatives."""

    root: Json

    def get_name(self, part: Json) -> str:
        if "$ref" in part:
            return get_reference_name(part)
        kind = "set" if part.get("uniqueItems") else part.get("type")
        return str(part.get("title") or part.get("format") or kind or "a literal")

    def is_hidden(self, one: Json, other: Json) -> bool:
        """Return whether each form of one alternative is a form of the other, or a member's name may mean another value."""
        parts, forms = (list(flatten_alternatives([side], self.root)) for side in (one, other))
        if all(MEMBERS in part for part in (*parts, *forms)):
            named, other_named = parts[0][MEMBERS], forms[0][MEMBERS]
            return any(named[name] is not other_named[name] for name in named.keys() & other_named)
        if any(NUMBERED in part for part in parts) and any(map(_takes_number, forms)):
            return True
        names = [name for part in parts for name in part.get(MEMBERS, ())]
        if names and any(_takes_text(form, names) for form in forms if MEMBERS not in form):
            return True
        if all(part.get(CONTAINER) is tuple for part in (*parts, *forms)):
            return True  # a named tuple is also made from an array
        constants = [constant for part in parts for constant in list_constants(part)]
        truths = [constant for form in forms for constant in list_constants(form)]
        has_truths = any(isinstance(constant, bool) for constant in truths) or any(
            form.get("type") == "boolean" for form in forms
        )
        if has_truths and any(is_one_of(constant, (0, 1)) for constant in constants):
            return True  # `1 == True`, so pydantic takes one for the other
        if constants:
            return False  # a constant is the same value in either alternative
        return all(any(self.is_covered(part, form) for form in forms) for part in parts)

    def is_covered(
        self, one: JsonValue, other: JsonValue, assumed: frozenset[tuple[int, int]] = frozenset()
    ) -> bool:
        """Return whether all JSON values of one form have the other; `assumed` are the pairs of enclosing forms."""
        one, other = resolve_reference(one, self.root), resolve_reference(other, self.root)
        pair = id(one), id(other)
        if one is other or pair in assumed:
            return True
        if not isinstance(one, Mapping) or not isinstance(other, Mapping):
            return bool(one == other)
        if NUMBERED in one or NUMBERED in other:
            return False
        assumed |= {pair}
        constants = list_constants(one), list_constants(other)
        if constants[0] or constants[1]:
            return bool(constants[0]) and all(
                is_one_of(item, constants[1]) for item in constants[0]
            )
        if list_alternatives(one) or list_alternatives(other):
            parts, forms = (list(flatten_alternatives([side], self.root)) for side in (one, other))
            return all(
                any(self.is_covered(part, form, assumed) for form in forms) for part in parts
            )
        if one.get("type") != other.get("type"):
            return False
        match one.get("type"):
            case "string":
                is_text = other.get("format") not in KINDS_OF_FORMATS
                return is_text or one.get("format") == other.get("format")
            case "array":
                return self.has_covered_items(one, other, assumed)
            case "object":
                return self.has_covered_properties(one, other, assumed)
        return True

    def has_covered_items(
        self, one: Json, other: Json, assumed: frozenset[tuple[int, int]]
    ) -> bool:
        fixed, forms = one.get("prefixItems"), other.get("prefixItems")
        if fixed is None:
            covers = forms is None
            return covers and self.is_covered(one.get("items"), other.get("items"), assumed)
        forms = [other.get("items")] * len(fixed) if forms is None else forms
        return len(fixed) == len(forms) and all(
            self.is_covered(part, form, assumed) for part, form in zip(fixed, forms, strict=True)
        )

    def has_covered_properties(
        self, one: Json, other: Json, assumed: frozenset[tuple[int, int]]
    ) -> bool:
        known, forms = one.get("properties", {}), other.get("properties", {})
        if known and KEYS in other:
            values = other.get("additionalProperties")
            return all(self.is_covered(part, values, assumed) for part in known.values())
        is_extra_ignored = one.get(CONTAINER) is tuple and other.get(CONTAINER) is not tuple
        if is_extra_ignored and forms and known.keys() >= forms.keys():
            return all(self.is_covered(known[name], forms[name], assumed) for name in forms)
        if known.keys() != forms.keys():
            return False
        if not known:
            keys = ("additionalProperties", "propertyNames", KEYS)
            return all(self.is_covered(one.get(key), other.get(key), assumed) for key in keys)
        return all(self.is_covered(known[name], forms[name], assumed) for name in known)


def _takes_number(form: Json) -> bool:
    """Return whether a whole number that chooses no object has a form."""
    is_number = form.get("type") in ("integer", "number") and NUMBERED not in form
    return is_number or any(type(constant) is int for constant in list_constants(form))


def _takes_text(form: Json, texts: Sequence[str]) -> bool:
    """Return whether any of these texts has a form."""
    if constants := list_constants(form):
        return any(is_one_of(text, constants) for text in texts)
    return form.get("type") == "string" and form.get("format") not in KINDS_OF_FORMATS
