"""Types that a program states in words or by its code, and does not annotate: hints, never assumed.

    Compute the mean of <a> and <b> as <:mean>, a float.        `mean` is a float: write `<:mean: float>`
    Read <letter> into <:cart> as a <Cart>.                     `cart` is a Cart
    Decide into <:polite> whether <mail> is polite.             `polite` is a bool
    Rate <text> as <:mood>: either good, fair, or bad.          `mood` is a Literal["good", "fair", "bad"]
    return title                                                `title` is what the function returns: `-> str`
    f("..."), text.split()                                      the parameter `text` is a str

Not seen: words of other languages, types that follow from code in other files. If two of these differ, there is no hint.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from njc.analysis.inference import TypeReader
from njc.analysis.types import Typed, find_signature_scope, unquote
from njc.frontend.blocks import NaturalBlock
from njc.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.frontend.names import FunctionDefinition, Global, resolve_name, walk_outwards
from njc.frontend.references import Reference, format_annotation
from njc.frontend.source import SourceFile

_SCALARS = {
    "float": r"float(?:ing[- ]point number)?s?|decimal numbers?",
    "int": r"int(?:eger)?s?|whole numbers?",
    "bool": r"bool(?:ean)?s?",
    "str": r"str(?:ing)?s?|texts?",
}
_MEMBERS = {**_SCALARS, "str": rf"{_SCALARS['str']}|words|names|sentences|lines"}
_SCALAR = "|".join(f"(?P<{name}>{words})" for name, words in _SCALARS.items())
_TYPE = rf"(?:an?\s+|the\s+)?(?:(?P<many>list|set|tuple)\s+of\s+(?P<member>{'|'.join(_MEMBERS.values())})|{_SCALAR})\b"
_AFTER = re.compile(rf"\s*(?:[,(:-]\s*)?(?:(?:as|being|which is|is)\s+)?{_TYPE}", re.IGNORECASE)
_BEFORE = re.compile(rf"\b{_TYPE}\s+\Z", re.IGNORECASE)
_CLASS = re.compile(r"\s*,?\s*(?:as|being|which is|is)?\s*an?\s+\Z|\s*,?\s+as\s+\Z", re.IGNORECASE)
_WHETHER_AFTER = re.compile(
    r"\s*,?\s*(?:whether|if)\b|[^.;]*\btrue\b[^.;]*\bfalse\b", re.IGNORECASE
)
_WHETHER_BEFORE = re.compile(
    r"\bwhether\b(?:(?!\band\b)[^,;])*\b(?:as|in|into)\s+\Z", re.IGNORECASE
)
_COUNT = re.compile(r"\b(?:the\s+number\s+of|how\s+many|count)\b.*\b(?:as|in|into)\s+\Z", re.IGNORECASE | re.DOTALL)  # fmt: skip
_EACH = re.compile(r"\b(?:each|every|per|by)\b", re.IGNORECASE)
_WORD = r"[\"'“‘]?([\w-]+)[\"'”’]?"
_CHOICE = re.compile(rf"\b(?:either|one of:?)\s+((?:{_WORD}\s*,\s*)*{_WORD}\s*,?\s+or\s+{_WORD})", re.IGNORECASE)  # fmt: skip
_TEXT_METHODS = frozenset(
    {"capitalize", "casefold", "endswith", "islower", "isupper", "lower", "lstrip", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StatedType:
    """A type that the program states: of a reference, or of a parameter."""

    name: str
    type: str
    start: int
    end: int
    written: str
    """What to write in place of the text from `start` to `end`."""


def find_type_hints(
    source: SourceFile, blocks: Sequence[NaturalBlock], types: TypeReader
) -> Iterator[Diagnostic]:
    """Report the types that are stated for the outputs of blocks and for the parameters that they read."""
    if not blocks:
        return
    *_, module = walk_outwards(blocks[0].scope)
    calls = _collect_calls(module.node)
    uses = {scope: _collect_uses(scope.node) for scope in {block.scope for block in blocks}}
    for block in blocks:
        found = (
            *_find_output_types(block, uses[block.scope], types),
            *_find_parameter_types(source, block, uses[block.scope], calls),
        )
        for stated in found:
            yield _make_hint(source, block, stated, types)


def _make_hint(
    source: SourceFile, block: NaturalBlock, stated: StatedType, types: TypeReader
) -> Diagnostic:
    home = resolve_name("Literal", block.scope, types.outputs)
    is_missing = isinstance(home, Global) and not home.known
    needs_import = is_missing and stated.type.startswith("Literal[")
    message = f"`{stated.name}` is `{stated.type}` by the words or the code around it, and has no annotation"
    hint = f"write `{stated.written}`" + needs_import * ", and `from typing import Literal`"
    replacement = None if needs_import else stated.written
    return make_diagnostic(source, "NJ308", stated.start, stated.end, message, hint, replacement)


_Calls = dict[str, list[ast.Call]]
"""The calls of functions, by their names."""


@dataclass(slots=True)
class _Uses:
    """How some code uses its variables, by their names (state: the collected uses)."""

    read: Counter[str] = field(default_factory=Counter)
    tested: Counter[str] = field(default_factory=Counter)
    """How often a test is the variable alone."""
    returned: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    """Variables with a call of a method of `str`."""
    members: dict[str, str] = field(default_factory=dict)
    """The variable of the loop over each."""


def _collect_uses(code: ast.AST) -> _Uses:
    uses = _Uses()
    for node in ast.walk(code):
        match node:
            case ast.Return(value=ast.Name(id=name)):
                uses.returned.add(name)
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                    test = test.operand
                if isinstance(test, ast.Name):
                    uses.tested[test.id] += 1
            case ast.Name(id=name):
                uses.read[name] += 1
            case ast.For(target=ast.Name(id=member), iter=ast.Name(id=name)):
                uses.members[name] = member
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                if method in _TEXT_METHODS:
                    uses.texts.add(name)
    return uses


def _collect_calls(module: ast.AST) -> _Calls:
    calls: dict[str, list[ast.Call]] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            calls.setdefault(node.func.id, []).append(node)
    return calls


# ── outputs ──────────────────────────────────────────────────────────────────────────────────────


def _find_output_types(block: NaturalBlock, uses: _Uses, types: TypeReader) -> Iterator[StatedType]:
    seen: set[str] = set()
    for reference in block.references:
        name = reference.path
        if not reference.writes or reference.is_dotted or reference.type or name in seen:
            continue
        seen.add(name)
        if block.is_fstring or types.output_type(name, block.scope) is not None:
            continue
        found = [*_read_words(block, reference, types), *_read_uses(block, name, uses, types)]
        if found and len(set(found)) == 1:
            written = f"<:{name}: {found[0]}>"
            yield StatedType(name, found[0], reference.start, reference.end, written)


def _read_words(block: NaturalBlock, reference: Reference, types: TypeReader) -> Iterator[str]:
    """Yield the type that the words around a reference state; the nearest ones count."""
    first = block.end - 3 - len(block.words)
    at, end = reference.start - first, reference.end - first
    before, after = block.words[:at], block.words[end:]
    found = _AFTER.match(after) or _BEFORE.search(before)
    if found is not None:
        yield _name_type(found)
        return
    for other in block.references:
        gap = block.words[end : other.start - first]
        if other.start > reference.start and _CLASS.fullmatch(gap) and not other.writes:
            if types.find_definition(other.path, block.scope) == "class":
                yield other.path
            return
    sentence = re.split(r"[.;!?](?:\s|\Z)", before)[-1], re.split(r"[.;!?](?:\s|\Z)", after)[0]
    if choice := _CHOICE.search(sentence[1]):
        words = [word for word in re.findall(_WORD, choice[1]) if word.lower() != "or"]
        yield f"Literal[{', '.join(f'{chr(34)}{word}{chr(34)}' for word in words)}]"
    elif _WHETHER_AFTER.match(sentence[1]) or _WHETHER_BEFORE.search(sentence[0]):
        yield "bool"
    elif _COUNT.search(sentence[0]) and not any(map(_EACH.search, sentence)):
        yield "int"


def _name_type(found: re.Match[str]) -> str:
    if found["many"]:
        member = next(name for name, words in _MEMBERS.items() if re.fullmatch(words, found["member"], re.IGNORECASE))  # fmt: skip
        return (
            f"tuple[{member}, ...]"
            if found["many"].lower() == "tuple"
            else f"{found['many'].lower()}[{member}]"
        )
    return next(name for name in _SCALARS if found[name])


def _read_uses(block: NaturalBlock, name: str, uses: _Uses, types: TypeReader) -> Iterator[str]:
    """Yield the types that the code of the scope asks of a variable: by a return, tests, a method of texts, a loop."""
    scope = block.scope
    returns = getattr(scope.node, "returns", None)
    if name in uses.returned and returns is not None and "function" in scope.kind:
        typed = types.expand(Typed(returns, find_signature_scope(scope)))
        origin = types.name_of(typed).rpartition(".")[2]
        if origin not in _UNSPECIFIC and not isinstance(returns, ast.BinOp):
            yield format_annotation(unquote(returns))
    if 0 < uses.tested[name] == uses.read[name]:
        yield "bool"
    if name in uses.texts:
        yield "str"
    if uses.members.get(name) in uses.texts:
        yield "list[str]"


_UNSPECIFIC = ("Any", "object", "None", "Optional", "Union", "Callable")


# ── parameters ───────────────────────────────────────────────────────────────────────────────────


def _find_parameter_types(
    source: SourceFile, block: NaturalBlock, uses: _Uses, calls: _Calls
) -> Iterator[StatedType]:
    """Yield the types of parameters without an annotation that the block reads: by their default, their uses, their calls."""
    function = block.scope.node
    if not isinstance(function, FunctionDefinition):
        return
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(zip([each.arg for each in reversed(positional)], reversed(arguments.defaults), strict=False))  # fmt: skip
    for position, parameter in enumerate(positional):
        name = parameter.arg
        is_read = name in block.reads and name not in block.writes
        if parameter.annotation is not None or not is_read:
            continue
        given = [defaults[name]] if name in defaults else []
        given += _find_arguments(block, position, name, calls)
        found = [_name_constant(value) for value in given] + ["str"] * (name in uses.texts)
        if found and set(found) <= {"str", "int", "float", "bool"} and len(set(found)) == 1:
            start = source.get_offset(parameter.lineno, parameter.col_offset)
            end, written = start + len(name), f"{name}: {found[0]}"
            if (default := defaults.get(name)) is not None:
                first = source.get_offset(default.lineno, default.col_offset)
                end = source.get_offset(default.end_lineno or 0, default.end_col_offset or 0)
                written += f" = {source.text[first:end]}"
            yield StatedType(name, found[0], start, end, written)


def _find_arguments(
    block: NaturalBlock, position: int, name: str, calls: _Calls
) -> Iterator[ast.expr]:
    """Yield the arguments in the file for a parameter of a function at its top."""
    if block.scope.parent is None or block.scope.parent.kind != "module":
        return
    for call in calls.get(block.scope.name, ()):
        if position < len(call.args):
            yield call.args[position]
        yield from (keyword.value for keyword in call.keywords if keyword.arg == name)


def _name_constant(value: ast.expr) -> str:
    if isinstance(value, ast.JoinedStr):
        return "str"
    return type(value.value).__name__ if isinstance(value, ast.Constant) else "?"
