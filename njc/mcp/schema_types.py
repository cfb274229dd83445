"""Python types for JSON schemas.

    {"type": "array", "items": {"type": "string"}}          list[str]
    {"enum": ["a", "b"]}                                    Literal['a', 'b']
    {"type": "object", "properties": {...}}                 a class, in `TypeWriter.classes`

Keywords without a type (patterns, limits, formats) are left to the server, which checks them. All
names and texts come from outside: names become identifiers, values are written with `repr`.
"""

from __future__ import annotations

import ast
import keyword
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from njrt.data.records import record

Schema = Mapping[str, Any]

_SCALARS = {
    "string": "str",
    "integer": "int",
    "number": "int | float",
    "boolean": "bool",
    "null": "None",
}
_RESERVED = frozenset(
    ["self", "cls", "server", "result", "str", "int", "float", "bool", "list", "dict", "njrt"]
)
_CLASS_RESERVED = frozenset(
    ["Any", "BaseModel", "ConfigDict", "Field", "Literal", "McpServer", "None", "True", "False"]
)
"""Names that generated code uses itself."""


@record
class TypedName:
    """An object's property, as a parameter or a field."""

    name: str
    """The name in Python."""
    key: str
    """The name in the schema."""
    annotation: str
    description: str
    is_optional: bool
    """Whether it is None by default, and then left out."""

    @property
    def declaration(self) -> str:
        """The name, the annotation and the default, if any."""
        return f"{self.name}: {self.annotation}" + (" = None" if self.is_optional else "")


class TypeWriter:
    """Writes the types of a module (state: the classes so far, and the types of the schemas)."""

    def __init__(self) -> None:
        """Make a writer without classes."""
        self.classes: list[str] = []
        """Written classes, each below the classes that it names, except for recursion."""
        self._names = set(_CLASS_RESERVED)
        self._known: dict[int, str] = {}
        """By the identity of the schema, which the tools of the module keep alive."""

    def write(self, schema: Any, name: str, root: Schema) -> str:
        """Return a schema's annotation; `name` is for its class, `root` has the definitions.

        A schema that contains itself in another way than as an object's property is Any there.
        """
        if (known := id(schema)) not in self._known:
            self._known[known] = "Any"
            self._known[known] = self._write(schema, name, root)
        return self._known[known]

    def _write(self, schema: Any, name: str, root: Schema) -> str:
        match schema:
            case {"$ref": str(reference)}:
                title = make_class_name(reference.rpartition("/")[2])
                return self.write(find_definition(reference, root), title, root)
            case {"enum": list(values)}:
                return _write_literal(values)
            case {"const": value}:
                return _write_literal([value])
            case {"type": [*kinds]}:
                parts = (self._write({**schema, "type": kind}, name, root) for kind in kinds)
                return _write_union(parts)
            case {"type": str(kind)} if kind in _SCALARS:
                return _SCALARS[kind]
            case {"properties": {**properties}} if (
                properties and schema.get("type", "object") == "object" and "allOf" not in schema
            ):
                return self._write_class(schema, name, root)
            case (
                {"anyOf": [_, *_] as parts} | {"oneOf": [_, *_] as parts} | {"allOf": [_] as parts}
            ):
                return _write_union(self.write(part, name, root) for part in parts)
            case {"type": "array"}:
                items = None if "prefixItems" in schema else schema.get("items")
                return f"list[{self.write(items, name + 'Item', root)}]"
            case {"type": "object"}:
                has_others = {"properties", "patternProperties", "allOf"} & schema.keys()
                others = None if has_others else schema.get("additionalProperties")
                return f"dict[str, {self.write(others, name + 'Value', root)}]"
        return "Any"

    def list_properties(
        self, schema: Schema, owner: str, root: Schema, reserved: Iterable[str] = ()
    ) -> list[TypedName]:
        """Return an object's properties, the required ones first."""
        found, used = list[TypedName](), {*_RESERVED, *reserved}
        properties, required = schema.get("properties"), schema.get("required")
        for key, value in properties.items() if isinstance(properties, Mapping) else ():
            annotation = self.write(value, owner + make_class_name(key), root)
            if is_optional := not (isinstance(required, list) and key in required):
                annotation = _write_union([annotation.removesuffix(" | None"), "None"])
            text = clean_text(value.get("description")) if isinstance(value, Mapping) else ""
            name = make_unique(make_identifier(key), used)
            found.append(TypedName(name, key, annotation, text, is_optional))
        return sorted(found, key=lambda each: each.is_optional)

    def _write_class(self, schema: Schema, title: str, root: Schema) -> str:
        name = self._known[id(schema)] = make_unique(make_class_name(title), self._names)
        fields = self.list_properties(schema, name, root, dir(BaseModel))
        text = clean_text(schema.get("description"))
        lines = [f"class {name}(BaseModel):", *([f"    {quote_docstring(text)}"] if text else [])]
        config = 'extra="allow", populate_by_name=True, protected_namespaces=()'
        lines += [f"    model_config = ConfigDict({config})", ""]
        for field in fields:
            default = "None, " if field.is_optional else ""
            alias = f"{field.name}: {field.annotation} = Field({default}alias={field.key!r})"
            lines.append("    " + (field.declaration if field.name == field.key else alias))
            lines += [f"    {quote_docstring(field.description)}"] if field.description else []
        self.classes.append("\n".join(lines))
        return name


def _write_union(parts: Iterable[str]) -> str:
    unique = list(dict.fromkeys(parts))
    if "Any" in unique:
        return "Any"
    return " | ".join(sorted(unique, key="None".__eq__))


def _write_literal(values: Sequence[Any]) -> str:
    if not values or any(type(value) not in (str, int, type(None)) for value in values):
        return "Any"  # a Literal has no floats, and cannot tell 1 from True
    return f"Literal[{', '.join(dict.fromkeys(map(repr, values)))}]"


def find_definition(reference: str, root: Schema) -> Any:
    """Return the part of a schema that a reference inside it names, or None."""
    found: Any = root if reference.startswith("#") else None
    for part in filter(None, reference[1:].split("/")):
        key = part.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


# ── names and texts ──────────────────────────────────────────────────────────────────────────────


def make_identifier(text: str) -> str:
    """Return a lower-case identifier for a server's name: `getFile-2` becomes `get_file_2`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    name = re.sub(r"[^0-9a-zA-Z]+", "_", spaced).strip("_").lower() or "value"
    name = f"n{name}" if name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or keyword.issoftkeyword(name) else name


def make_class_name(text: str) -> str:
    """Return a class name: `edit_file` becomes `EditFile`."""
    words = re.findall(r"[A-Za-z0-9]+", text)
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
    lines = text.expandtabs().splitlines() if isinstance(text, str) else []
    kept = ("".join(char for char in line if char.isprintable()).rstrip() for line in lines)
    return "\n".join(kept).strip()


def quote_docstring(text: str, indent: str = "    ") -> str:
    """Return a text as a docstring, with its later lines indented."""
    ending = f"\n{indent}" if "\n" in text else ""
    whole = textwrap.indent(text, indent).lstrip() + ending
    return ast.unparse(ast.Module([ast.Expr(ast.Constant(whole))], []))
