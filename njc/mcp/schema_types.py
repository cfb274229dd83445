"""Types of Python for JSON schemas.

    {"type": "array", "items": {"type": "string"}}          list[str]
    {"enum": ["a", "b"]}                                    Literal["a", "b"]
    {"type": "object", "properties": {...}}                 a class, which `TypeWriter.classes` has

A keyword that has no type (patterns, limits, formats) is left to the server, which checks it. Every name and text of a
schema comes from outside: names are made identifiers, values are written by `repr`. Schemas: JSON Schema 2020-12.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

Schema = Mapping[str, Any]

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_RESERVED = {
    "self",
    "cls",
    "server",
    "result",
    "str",
    "int",
    "float",
    "bool",
    "list",
    "dict",
    "tuple",
    "njrt",
}
"""Names that generated code uses itself."""
_CLASS_RESERVED = {"Any", "BaseModel", "ConfigDict", "Field", "Literal", "McpServer", "None", "True", "False"}  # fmt: skip
_MOST_DEPTH = 30
_MOST_TYPES = 10_000
"""How many schemas one module may have: a small schema can name itself many times."""


@dataclass(frozen=True, slots=True)
class TypedName:
    """A property of an object as a parameter or a field."""

    name: str
    """The name in Python."""
    key: str
    """The name in the schema."""
    annotation: str
    is_required: bool
    description: str
    default: str | None
    """The default as Python; None if the schema has none that is a scalar."""


class TypeWriter:
    """Writes the types of one module (state: the classes so far, and their names)."""

    def __init__(self) -> None:
        """Make a writer without classes."""
        self.classes: list[str] = []
        """Written classes, each below the classes that it names, but for recursion."""
        self._names: set[str] = set(_CLASS_RESERVED)
        self._known: dict[int, tuple[str, Schema]] = {}
        """Classes by the ids of their schemas, which are kept so that no id is used again."""
        self._variants: dict[tuple[int, str], tuple[Schema, Schema]] = {}
        """Schemas made of one, by its id and the type: made once, so that a recursive one has one class."""
        self._count = 0

    def write(self, schema: Any, name: str, root: Schema, depth: int = 0) -> str:
        """Return the annotation for a schema; `name` is for its class, `root` has the definitions."""
        self._count += 1
        if not isinstance(schema, Mapping) or depth > _MOST_DEPTH or self._count > _MOST_TYPES:
            return "Any"
        if isinstance(reference := schema.get("$ref"), str):
            return self._write_reference(reference, root, name, depth)
        if "const" in schema or isinstance(schema.get("enum"), Sequence):
            return _write_literal(schema.get("enum", [schema.get("const")]))
        for key in ("anyOf", "oneOf"):
            parts = schema.get(key)
            if isinstance(parts, Sequence) and parts and "properties" not in schema:
                return self._write_union(
                    [self.write(part, name, root, depth + 1) for part in parts]
                )
        if isinstance(parts := schema.get("allOf"), Sequence) and parts:
            rest = {key: value for key, value in schema.items() if key != "allOf"}
            merged = self._keep(schema, "allOf", _merge(parts, rest, root))
            return self.write(merged, name, root, depth + 1)
        kind = schema.get("type")
        if isinstance(kind, Sequence) and not isinstance(kind, str):
            return self._write_union(
                [
                    self.write(
                        self._keep(schema, each, {**schema, "type": each}), name, root, depth + 1
                    )
                    for each in map(str, kind)
                ]
            )
        if kind == "array" or (kind is None and "items" in schema):
            return f"list[{self.write(schema.get('items'), name + 'Item', root, depth + 1)}]"
        if kind == "object" or (kind is None and "properties" in schema):
            return self._write_object(schema, name, root, depth)
        return _SCALARS.get(kind, "Any") if isinstance(kind, str) else "Any"

    def _keep(self, schema: Schema, key: str, made: Schema) -> Schema:
        return self._variants.setdefault((id(schema), key), (schema, made))[1]

    def list_properties(
        self,
        schema: Schema,
        owner: str,
        root: Schema,
        reserved: Iterable[str] = _RESERVED,
        depth: int = 0,
    ) -> list[TypedName]:
        """Return the properties of an object, the required ones first."""
        schema = _flatten(schema, root)
        properties, required = schema.get("properties"), schema.get("required")
        required = required if isinstance(required, list) else []
        found: list[TypedName] = []
        used = set(reserved)
        for key, value in properties.items() if isinstance(properties, Mapping) else ():
            name = make_unique(make_identifier(key), used)
            held = value if isinstance(value, Mapping) else {}
            annotation = self.write(value, owner + make_class_name(key), root, depth + 1)
            found.append(
                TypedName(
                    name,
                    key,
                    annotation,
                    key in required,
                    clean_text(held.get("description")),
                    write_default(held.get("default"), annotation),
                )
            )
        return sorted(found, key=lambda each: not each.is_required)

    def _write_reference(self, reference: str, root: Schema, name: str, depth: int) -> str:
        target = find_definition(reference, root)
        if not isinstance(target, Mapping):
            return "Any"
        title = make_class_name(reference.rpartition("/")[2]) if reference != "#" else name
        return self.write(target, title, root, depth + 1)

    def _write_object(self, schema: Schema, name: str, root: Schema, depth: int) -> str:
        if not schema.get("properties"):
            values = schema.get("additionalProperties")
            inner = self.write(values, name + "Value", root, depth + 1)
            return f"dict[str, {inner}]"
        if id(schema) in self._known:
            return self._known[id(schema)][0]
        made = make_unique(make_class_name(name), self._names)
        self._known[id(schema)] = made, schema
        fields = self.list_properties(schema, made, root, {*_RESERVED, *dir(BaseModel)}, depth)
        self.classes.append("\n".join(self._write_class(made, schema, fields)))
        return made

    def _write_class(self, name: str, schema: Schema, fields: Sequence[TypedName]) -> Iterator[str]:
        yield f"class {name}(BaseModel):"
        if text := clean_text(schema.get("description")):
            yield f"    {quote_docstring(text)}"
            yield ""
        yield '    model_config = ConfigDict(extra="allow", populate_by_name=True)'
        yield ""
        for field in fields:
            alias = f"alias={field.key!r}" if field.name != field.key else ""
            annotation = field.annotation
            default = field.default
            if not field.is_required and default is None:
                annotation, default = add_none(annotation), "None"
            if alias:
                value = f" = Field({', '.join(filter(None, [default, alias]))})"
            else:
                value = f" = {default}" if default is not None else ""
            yield f"    {field.name}: {annotation}{value}"
            if field.description:
                yield f"    {quote_docstring(field.description)}"

    def _write_union(self, parts: Sequence[str]) -> str:
        unique = list(dict.fromkeys(parts))
        if "Any" in unique or not unique:
            return "Any"
        ordered = [part for part in unique if part != "None"] + ["None"] * ("None" in unique)
        return " | ".join(ordered)


def add_none(annotation: str) -> str:
    """Return an annotation that allows None."""
    has_none = annotation in ("Any", "None") or annotation.endswith("| None")
    return annotation if has_none else f"{annotation} | None"


def find_definition(reference: str, root: Schema) -> Any:
    """Return the part of a schema that a reference within it names, or None."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for part in filter(None, reference[1:].split("/")):
        key = part.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def make_identifier(text: str) -> str:
    """Return an identifier in lower case for a name of a server: `getFile-2` is `get_file_2`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    name = re.sub(r"[^0-9a-zA-Z]+", "_", spaced).strip("_").lower() or "value"
    name = f"n{name}" if name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or keyword.issoftkeyword(name) else name


def make_class_name(text: str) -> str:
    """Return the name of a class: `edit_file` is `EditFile`."""
    words = re.findall(r"[A-Za-z0-9]+", str(text))
    name = "".join(word[0].upper() + word[1:] for word in words) or "Value"
    return f"N{name}" if name[0].isdigit() else name


def make_unique(name: str, used: set[str]) -> str:
    """Return the name, with a number if it is used; it is used from now on."""
    made, number = name, 1
    while made in used:
        number += 1
        made = f"{name.rstrip('_')}_{number}"
    used.add(made)
    return made


def clean_text(text: Any) -> str:
    """Return a text of a server without control characters; empty for something else."""
    if not isinstance(text, str):
        return ""
    lines = text.expandtabs().replace("\r\n", "\n").split("\n")
    kept = ("".join(char for char in line if char.isprintable()).rstrip() for line in lines)
    return "\n".join(kept).strip()


def quote_docstring(text: str, indent: str = "    ") -> str:
    """Return a text as a docstring, its later lines indented."""
    escaped = text.replace("\\", "\\\\")
    quoted = re.sub(r'"{3,}|"+\Z', lambda match: '\\"' * len(match[0]), escaped)
    lines = quoted.split("\n")
    rest = [f"{indent}{line}" if line else "" for line in lines[1:]]
    end = f"\n{indent}" if rest else ""
    return '"""' + "\n".join([lines[0], *rest]) + f'{end}"""'


def write_default(value: Any, annotation: str) -> str | None:
    """Return a default as Python; None for one that is no scalar, or not of the type."""
    parts = annotation.split(" | ")
    if annotation.startswith("Literal["):
        fits = repr(value) in annotation
    elif type(value) is float:
        fits = "float" in parts and math.isfinite(value)
    else:
        fits = type(value) in (str, int, bool) and (
            type(value).__name__ in parts or (type(value) is int and "float" in parts)
        )
    return repr(value) if fits else None


def _write_literal(values: Sequence[Any]) -> str:
    scalars = [value for value in values if value is None or type(value) in (str, int, bool)]
    if not values or len(scalars) != len(values):
        return "Any"
    if scalars == [None]:
        return "None"
    return f"Literal[{', '.join(dict.fromkeys(map(repr, scalars)))}]"


def _flatten(schema: Schema, root: Schema) -> Schema:
    """Return an object's schema with the properties of all its parts; those of alternatives are optional."""
    several, *others = (
        parts if isinstance(parts := schema.get(key), list) else []
        for key in ("allOf", "anyOf", "oneOf")
    )
    whole = _merge([schema, *several], {}, root)
    options: dict[str, list[Any]] = {}
    for part in (*others[0], *others[1]):
        properties = _merge([part], {}, root).get("properties")
        for key, value in properties.items() if isinstance(properties, Mapping) else ():
            options.setdefault(key, []).append(value)
    own = whole.get("properties")
    own = own if isinstance(own, Mapping) else {}
    found = {key: {"anyOf": each} for key, each in options.items() if key not in own}
    return {**whole, "properties": {**own, **found}}


def _merge(parts: Sequence[Any], rest: Schema, root: Schema) -> Schema:
    """Return the one schema that holds all parts of `allOf`."""
    merged: dict[str, Any] = {}
    for part in (*parts, rest):
        for _ in range(_MOST_DEPTH):
            if isinstance(part, Mapping) and isinstance(part.get("$ref"), str):
                part = find_definition(part["$ref"], root)
        if not isinstance(part, Mapping):
            continue
        for key, value in part.items():
            if key == "properties" and isinstance(value, Mapping):
                merged[key] = {**merged.get(key, {}), **value}
            elif key == "required" and isinstance(value, Sequence):
                merged[key] = [*merged.get(key, ()), *value]
            else:
                merged[key] = value
    return merged
