"""Whether the code of a block can be contained, by its place and the types that the program states.

class Box: ... <:limit: int>      code in the body of a class                 cannot be contained
Put a parser into <:f: Callable>  a function, a class or an iterator          cannot be contained
Put 1 into <:self._number>        an attribute with an underscore             cannot be contained
Sort <self._rows>                 the same, read                              cannot be contained
Put 1 into <:Box.limit>           an attribute of a class                     cannot be set
Clean <df>; df: pd.DataFrame      its type has a class of another package     only a handle
except* E as all: ... <all>       a group of exceptions                       not there for the code

With `policy="contained"`, the first four are errors. With `policy="auto"`, all run guarded. Values
do not count, so that no input can change where code runs. Not detected: types that are not stated,
classes of libraries in attributes and items of own classes, and own classes with other bases.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from itertools import chain

from njc.compiler.analysis.inference import TypeReader
from njc.compiler.analysis.types import MAX_DEPTH, Typed
from njc.compiler.frontend.blocks import NaturalBlock
from njrt.data.options import Options, list_packages
from njrt.data.records import record
from njrt.execution.contained.kinds import MADE_BY_CODE

_MADE_BY_CODE = frozenset(
    f"{module}{kind.__name__}"
    for kind in MADE_BY_CODE
    for module in ("", "typing.", "collections.abc.")
)
"""The dotted names of types of objects that live in the process of their code."""

PLAIN_CLASSES = frozenset(
    {
        *(f"collections.{it}" for it in ("Counter", "OrderedDict", "defaultdict")),
        *("collections.deque", "decimal.Decimal", "fractions.Fraction", "uuid.UUID"),
        *(f"datetime.{it}" for it in ("date", "datetime", "time", "timedelta", "timezone")),
    }
)
"""Classes of the standard library whose objects contained code gets as data."""
_WITHOUT_OBJECTS = ("typing.Literal", "typing.Callable", "collections.abc.Callable")
"""Forms whose parts are no types of objects that the code gets."""
_ITERATORS = _MADE_BY_CODE.difference(_WITHOUT_OBJECTS)
_LIVE_TYPES = _ITERATORS.union(
    f"typing.{it}" for it in ("IO", "TextIO", "BinaryIO", "Pattern", "Match")
)
_OF_TYPES = ("typing", "typing_extensions", "types", "collections.abc", "numbers", "enum")
"""Modules of abstract classes and of forms of types."""


@record
class Uncontained:
    """Why the code of a block runs guarded with `policy="auto"`, the default, and a way out."""

    reason: str
    remedy: str
    is_impossible: bool = True
    """Whether `policy="contained"` is an error; otherwise, it depends on the code."""
    is_seen_by_scope: bool = True
    """Whether the runtime finds it itself, in the scope of the block."""


def find_uncontained(
    block: NaturalBlock, types: TypeReader, path: str, options: Options
) -> Uncontained | None:
    """Return why a block's code is not contained with `policy="auto"`; None if it is.

    `path` is the file's; its first part is the package whose classes are the program's own, as are
    those of the packages in the block's merged `options`.
    """
    if block.scope.kind == "class":
        return Uncontained(
            "code in the body of a class cannot be contained", "move the block into a function"
        )
    own = {path.removesuffix(".njpy").partition("/")[0], *list_packages(options.own_packages)}
    finders = _find_outputs(block, types), _find_inputs(block, types, own)
    return next(chain(*finders), None)


def _find_outputs(block: NaturalBlock, types: TypeReader) -> Iterator[Uncontained]:
    """Yield the outputs that contained code cannot bind."""
    for path in block.writes:
        typed = types.output_type(path, block.scope)
        if typed is not None and types.name_of(types.expand(typed)) in _MADE_BY_CODE:
            yield Uncontained(
                f"`{path}` is a function, a class or an iterator, which ends with contained code",
                'let the block bind data, or write `policy="guarded"`',
            )
        if types.find_definition(path.partition(".")[0], block.scope) == "class" and "." in path:
            yield Uncontained(
                f"`{path}` is an attribute of a class, which contained code cannot set",
                'name a function that sets it, or write `policy="guarded"`',
                is_impossible=False,
                is_seen_by_scope=False,
            )
        if "._" in path:
            yield Uncontained(
                f"contained code cannot set `{path}`, which has an underscore before the name",
                'name another attribute or a variable, or write `policy="guarded"`',
            )


def _find_inputs(
    block: NaturalBlock, types: TypeReader, own: Collection[str]
) -> Iterator[Uncontained]:
    """Yield the variables and modules that contained code would not have, or only as handles."""
    for path in dict.fromkeys((*block.reads, *block.writes)):
        root = path.partition(".")[0]
        read = (root, path) if root != path else (path,) if path in block.reads else ()
        typed = [types.read_type(it, block)[0] for it in read]
        if path in block.binds:
            typed.append(types.output_type(path, block.scope))
        names = (_find_library_class(it, types, own) for it in typed if it)
        if root == block.frame.group:
            yield Uncontained(
                f"`{root}` is a group of exceptions, which contained code cannot get",
                "name a variable that the program has bound to what the code needs",
                is_impossible=False,
                is_seen_by_scope=False,
            )
        if "._" in path:
            yield Uncontained(
                f"contained code has no attribute with an underscore, such as `{path}`",
                'name another attribute or a variable, or write `policy="guarded"`',
                is_seen_by_scope=False,
            )
        elif name := next(filter(None, names), None):
            kind = "an iterator" if name in _ITERATORS else "a class of another package"
            yield Uncontained(
                f"the type of `{path}` has {kind}, `{name}`",
                "name functions that do what is needed, or set `own_packages` if it is the"
                " program's package",
                is_impossible=False,
                is_seen_by_scope=False,
            )


def _find_library_class(
    typed: Typed, types: TypeReader, own: Collection[str], depth: int = 0
) -> str | None:
    """Return the dotted name of a class of another package in a type, if it is no class of data."""
    typed = types.expand(typed)
    annotation = typed.annotation
    if depth > MAX_DEPTH:  # an alias that refers to itself
        return None
    parts: list[ast.expr] = []
    match annotation:
        case ast.BinOp(left=left, right=right):
            parts = [left, right]
        case ast.Subscript(value=origin, slice=inner):
            if types.name_of(typed) in _WITHOUT_OBJECTS:
                return None
            parts = [origin, *(inner.elts if isinstance(inner, ast.Tuple) else [inner])]
        case ast.List(elts=items):
            parts = items
        case ast.Name() | ast.Attribute():
            name = _find_imported_name(typed, types)
            module, _, _ = name.rpartition(".")
            is_own = not module or module.partition(".")[0] in own
            is_form = module in _OF_TYPES and name not in _LIVE_TYPES
            return None if is_own or is_form or name in PLAIN_CLASSES else name
    names = (_find_library_class(typed.inside(it), types, own, depth + 1) for it in parts)
    return next(filter(None, names), None)


def _find_imported_name(typed: Typed, types: TypeReader) -> str:
    """Return the dotted name of an imported class; "" if it is of this file, or not known."""
    attributes: list[str] = []
    annotation = typed.annotation
    while isinstance(annotation, ast.Attribute):
        attributes.append(annotation.attr)
        annotation = annotation.value
    root = types.name_of(typed.inside(annotation))
    return ".".join([root, *reversed(attributes)]) if root else ""
