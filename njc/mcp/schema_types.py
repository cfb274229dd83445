"""Python types for JSON schemas.

    {"type": "array", "items": {"type": "string"}}          list[str]
    {"enum": ["a", "b"]}                                    Literal["a", "b"]
    {"type": "object", "properties": {...}}                 a class, in `TypeWriter.classes`

Keywords without a type (patterns, limits, formats) are left to the server, which checks them. All names and texts in
a schema come from outside: names become identifiers, values are written with `repr`. Schemas: JSON Schema 2020-12.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from njrt.records import record

Schema = Mapping[str, Any]

_SCALARS = {"string": "str", "integer": "int", "number": "int | float", "boolean": "bool", "null": "None"}  # fmt: skip
_RESERVED = {"self", "cls", "server", "result", "str", "int", "float", "bool", "list", "dict", "tuple", "njrt"}  # fmt: skip
"""Names that generated code uses itself."""
_CLASS_RESERVED = {"Any", "BaseModel", "ConfigDict", "Field", "Literal", "McpServer", "None", "True", "False"}  # fmt: skip
_MOST_DEPTH = 30
_MOST_TYPES = 10_000
"""How many schemas a module may have: a small schema can refer to itself many times."""


@record
class TypedName:
    """An object's property, as a parameter or a field."""

    name: str
    """The name in Python."""
    key: str
    """The name in the schema."""
    annotation: str
    description: str
    default: str
    """The default as Python, empty if the property is required; `None` if the schema has no scalar default."""

    @property
    def declaration(self) -> str:
        """The name, the annotation and the default, if any."""
        return f"{self.name}: {self.annotation}" + (f" = {self.default}" if self.default else "")


class TypeWriter:
    """Writes a module's types (state: the classes so far, and their names)."""

    def __init__(self) -> None:
        """Make a writer without classes."""
        self.classes: list[str] = []
        """Written classes, each below the classes that it names, except for recursion."""
        self._names: set[str] = set(_CLASS_RESERVED)
        self._known: dict[int, tuple[str, Schema]] = {}
        """Classes by the ids of their schemas, which are kept alive so that no id is reused."""
        self._variants: dict[tuple[int, str], tuple[Schema, Schema]] = {}
        """Schemas derived from a schema, by its id and the type; made once, so that recursive ones have one class."""
        self._count = 0

    def write(self, schema: Any, name: str, root: Schema, depth: int = 0) -> str:
        """Return the annotation for a schema; `name` is for its class, `root` contains the definitions."""
        self._count += 1
        if not isinstance(schema, Mapping) or depth > _MOST_DEPTH or self._count > _MOST_TYPES:
            return "Any"
        if isinstance(reference := schema.get("$ref"), str):
            return self._write_reference(reference, root, name, depth)
        if "const" in schema or isinstance(schema.get("enum"), list):
            return _write_literal(schema.get("enum", [schema.get("const")]))
        for key in ("anyOf", "oneOf"):
            if (parts := _get_list(schema, key)) and "properties" not in schema:
                return self._write_union(self.write(each, name, root, depth + 1) for each in parts)
        if parts := _get_list(schema, "allOf"):
            rest = {key: value for key, value in schema.items() if key != "allOf"}
            merged = self._keep(schema, "allOf", _merge(parts, rest, root))
            return self.write(merged, name, root, depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = (self._keep(schema, it, {**schema, "type": it}) for it in map(str, kind))
            return self._write_union(self.write(each, name, root, depth + 1) for each in kinds)
        if kind == "array" or (kind is None and "items" in schema):
            return self._write_array(schema, name + "Item", root, depth)
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
        """Return an object's properties, the required ones first."""
        schema = _flatten(schema, root)
        required = _get_list(schema, "required")
        found: list[TypedName] = []
        used = set(reserved)
        for key, value in _get_mapping(schema, "properties").items():
            name = make_unique(make_identifier(key), used)
            held = value if isinstance(value, Mapping) else {}
            annotation = self.write(value, owner + make_class_name(key), root, depth + 1)
            default = "" if key in required else write_default(held.get("default"), annotation)
            if default == "None":
                annotation = add_none(annotation)
            description = clean_text(held.get("description"))
            found.append(TypedName(name, key, annotation, description, default))
        return sorted(found, key=lambda each: bool(each.default))

    def _write_reference(self, reference: str, root: Schema, name: str, depth: int) -> str:
        target = find_definition(reference, root)
        if not isinstance(target, Mapping):
            return "Any"
        title = make_class_name(reference.rpartition("/")[2]) if reference != "#" else name
        return self.write(target, title, root, depth + 1)

    def _write_array(self, schema: Schema, name: str, root: Schema, depth: int) -> str:
        first = _get_list(schema, "prefixItems")
        parts = [self.write(part, name, root, depth + 1) for part in first]
        if parts and schema.get("minItems") == schema.get("maxItems") == len(parts):
            return f"tuple[{', '.join(parts)}]"
        if (rest := schema.get("items", True)) is not False or not parts:
            parts.append(self.write(rest, name, root, depth + 1))
        return f"list[{self._write_union(parts)}]"

    def _write_object(self, schema: Schema, name: str, root: Schema, depth: int) -> str:
        if not _get_mapping(schema, "properties"):
            values = [*_get_mapping(schema, "patternProperties").values()]
            if (rest := schema.get("additionalProperties", True)) is not False or not values:
                values.append(rest)
            parts = [self.write(value, name + "Value", root, depth + 1) for value in values]
            return f"dict[str, {self._write_union(parts)}]"
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
        options = 'extra="allow", populate_by_name=True'
        if any(field.name.startswith("model_") for field in fields):
            options += ", protected_namespaces=()"
        yield f"    model_config = ConfigDict({options})"
        yield ""
        for field in fields:
            line = field.declaration
            if field.name != field.key:
                parts = [*filter(None, [field.default]), f"alias={field.key!r}"]
                line = f"{field.name}: {field.annotation} = Field({', '.join(parts)})"
            yield f"    {line}"
            if field.description:
                yield f"    {quote_docstring(field.description)}"

    def _write_union(self, parts: Iterable[str]) -> str:
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
    """Return the part of a schema that a reference inside it names, or None."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for part in filter(None, reference[1:].split("/")):
        key = part.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def make_identifier(text: str) -> str:
    """Return a lower-case identifier for a server's name: `getFile-2` becomes `get_file_2`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    name = re.sub(r"[^0-9a-zA-Z]+", "_", spaced).strip("_").lower() or "value"
    name = f"n{name}" if name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or keyword.issoftkeyword(name) else name


def make_class_name(text: str) -> str:
    """Return a class name: `edit_file` becomes `EditFile`."""
    words = re.findall(r"[A-Za-z0-9]+", str(text))
    name = "".join(word[0].upper() + word[1:] for word in words) or "Value"
    return f"N{name}" if name[0].isdigit() else name


def make_unique(name: str, used: set[str]) -> str:
    """Return the name, with a number if it is already used, and add it to the used names."""
    made, number = name, 1
    while made in used:
        number += 1
        made = f"{name.rstrip('_')}_{number}"
    used.add(made)
    return made


def clean_text(text: Any) -> str:
    """Return a server's text without control characters; empty for any other value."""
    if not isinstance(text, str):
        return ""
    lines = text.expandtabs().replace("\r\n", "\n").split("\n")
    kept = ("".join(char for char in line if char.isprintable()).rstrip() for line in lines)
    return "\n".join(kept).strip()


def quote_docstring(text: str, indent: str = "    ") -> str:
    """Return a text as a docstring, with its later lines indented."""
    escaped = text.replace("\\", "\\\\")
    quoted = re.sub(r'"{3,}|"+\Z', lambda match: '\\"' * len(match[0]), escaped)
    lines = quoted.split("\n")
    rest = [f"{indent}{line}" if line else "" for line in lines[1:]]
    end = f"\n{indent}" if rest else ""
    return '"""' + "\n".join([lines[0], *rest]) + f'{end}"""'


def write_default(value: Any, annotation: str) -> str:
    """Return a default as Python; `None` if it is not a scalar, or not of the type."""
    kinds = set(map(ast.unparse, ast.walk(ast.parse(annotation, mode="eval"))))
    is_flat = not re.search(r"\b(list|dict|tuple)\[", annotation)
    is_scalar = type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value))
    fits = is_flat and is_scalar and kinds & {repr(value), type(value).__name__}
    return repr(value) if fits else "None"


def _write_literal(values: Sequence[Any]) -> str:
    scalars = [value for value in values if value is None or type(value) in (str, int, bool)]
    written = dict.fromkeys(map(repr, scalars))
    if not values or len(scalars) != len(values) or len(set(scalars)) != len(written):
        return "Any"  # 1 and True are the same value in a Literal
    if scalars == [None]:
        return "None"
    return f"Literal[{', '.join(written)}]"


def _get_mapping(schema: Schema, key: str) -> Schema:
    return value if isinstance(value := schema.get(key), Mapping) else {}


def _get_list(schema: Schema, key: str) -> list[Any]:
    return value if isinstance(value := schema.get(key), list) else []


def _flatten(schema: Schema, root: Schema) -> Schema:
    """Return an object's schema with the properties of all its parts; alternatives' properties are optional."""
    whole = _merge([schema, *_get_list(schema, "allOf")], {}, root)
    options: dict[str, list[Any]] = {}
    for part in _get_list(schema, "anyOf") + _get_list(schema, "oneOf"):
        for key, value in _get_mapping(_merge([part], {}, root), "properties").items():
            options.setdefault(key, []).append(value)
    own = _get_mapping(whole, "properties")
    found = {key: {"anyOf": each} for key, each in options.items() if key not in own}
    return {**whole, "properties": {**own, **found}}


def _merge(parts: Sequence[Any], rest: Schema, root: Schema) -> Schema:
    """Return a single schema that contains all parts of `allOf`."""
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
            elif key == "required" and isinstance(value, list):
                merged[key] = [*merged.get(key, ()), *value]
            else:
                merged[key] = value
    return merged
