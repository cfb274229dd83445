"""The small language inside a prompt: `<x>`, `<x.a>`, `<:y>`, `<:y.a>`, `<:y: T>` and `<<`.

    "Save a <:count: int> of <items.open>; 1 << 2, a < b and <<b> are text."

        Reference("count", writes=True, type="int")    Reference("items.open", writes=False)

Everything else in angle brackets is plain text. References are read from the literal's source text;
an f-string's fields are blanked first, so that data can never name a variable. Offsets count from
the start of the given text.
"""

from __future__ import annotations

import ast
import copy
import functools
import keyword
import re
import unicodedata
import warnings
from collections.abc import Iterator

from njrt.data.records import record

NAME = r"[^\W\d][^\x00-/:-@\[-^`{-\x7f]*"
"""A name, perhaps with more: `\\w` lacks combining marks, so all non-ASCII counts.

In code, only they can follow.
"""
PATH = rf"{NAME}(?:\.{NAME})*"
_TAG_PATTERN = re.compile(rf"<<|<(?P<writes>:?)(?P<path>{PATH})(?:(?P<close>>)|[ \t]*:(?=[^>]))")
_WORDS = re.compile(r"[\w.]+")
"""Paths without combining marks, which `\\w` does not match; some other paths are not names."""
_MAX_TYPE_LENGTH = 10_000
_MAX_TYPE_ENDS = 50
"""The maximum number of `>` that are tried as the end of a type."""


@record
class Reference:
    """A reference: the path in Python's spelling (NFKC), its place, and an output's type.

    `type` is a Python expression in canonical spelling; None for a reference without a type.
    """

    path: str
    writes: bool
    start: int
    end: int
    type: str | None = None

    @property
    def root(self) -> str:
        """The variable that the path starts from."""
        return self.path.partition(".")[0]

    @property
    def is_dotted(self) -> bool:
        """Whether the path leads to an attribute."""
        return "." in self.path

    @property
    def needs_value(self) -> bool:
        """Whether the variable must already be bound: it is read, or an attribute of it is set."""
        return not self.writes or self.is_dotted


@record
class KeywordTag:
    """`<class>` or `<:None>`: formed like a reference, but no name; plain text without a colon."""

    path: str
    writes: bool
    start: int
    end: int


@record
class MistypedTag:
    """`<:y: the sum>`: has the form of a typed output, but its type is not Python."""

    path: str
    start: int
    end: int


@record
class NearTag:
    """`<items[0]>`, `< x >` or `<x>...</x>`: nearly a reference, but plain text."""

    root: str
    """The variable that it probably means."""
    writes: bool
    start: int
    end: int
    reason: str
    hint: str
    is_typed: bool = False
    """Whether it has a type, like an output, but no colon before the name."""


Tag = Reference | KeywordTag | MistypedTag | NearTag


def find_tags(text: str) -> Iterator[Tag]:
    """Yield, in order, everything in `text` that has the form of a reference, or nearly has it."""
    position = 0
    for tag in _find_exact_tags(text):
        if text.find("<", position, tag.start) >= 0:
            yield from _find_near_tags(text, position, tag.start)
        yield tag
        position = tag.end
    if text.find("<", position) >= 0:
        yield from _find_near_tags(text, position, len(text))


def _find_exact_tags(text: str) -> Iterator[Tag]:
    position = 0
    while match := _TAG_PATTERN.search(text, position):
        position = match.end()
        if match["path"] is None:
            continue
        writes = bool(match["writes"])
        path = unicodedata.normalize("NFKC", match["path"])
        if not _WORDS.fullmatch(match["path"]) and not all(map(str.isidentifier, path.split("."))):
            continue
        if match["close"] and not writes and text.find(f"</{match['path']}>", position) >= 0:
            reason = f"`</{path}>` closes `<{path}>`, so both are plain text"
            hint = f"for the variable `{path}`, write `</ {path}>` or another closing mark"
            yield NearTag(path, writes, match.start(), match.end(), reason, hint)
        elif match["close"]:
            kind = KeywordTag if _has_keyword(path) else Reference
            yield kind(path, writes, match.start(), match.end())
        elif writes:
            tag = _read_typed_tag(text, match, path)
            if tag is not None:
                position = position if isinstance(tag, MistypedTag) else tag.end
                yield tag


_NEAR_TAG = re.compile(
    rf"(?<![<\w])<\s*(?P<writes>:?)\s*(?P<path>{PATH})(?P<after>[^<>\r\n]{{0,80}}|\s*)>"
)
_BUILTIN_TYPE = re.compile(r"\s*:\s*(?:str|int|float|bool|bytes|list|dict|set|tuple)\b")
_UNCLOSED_TAG = re.compile(
    rf"(?<![<\w])<(?P<writes>:?)(?P<path>{PATH})"
    r"(?P<after>(?=[\s.,;!?)]|\Z)[^<>\r\n]{0,80})(?=[\r\n<]|\Z)"
)
_NAME_END = re.compile(r"[\s.,;!?)]|\Z")


def find_name_end(text: str, start: int = 0) -> int:
    """Return the end of the name characters from `start` on."""
    for end in range(start, len(text)):
        if not ("_" + unicodedata.normalize("NFKC", text[end])).isidentifier():
            return end
    return len(text)


def _split_path(match: re.Match[str]) -> tuple[str, str]:
    """Return a near reference's path, and the text after it."""
    path = match["path"]
    end = find_name_end(path)
    while path[end : end + 1] == ".":
        end = find_name_end(path, end + 1)
    return path[:end], path[end:] + match["after"]


def _find_near_tags(text: str, start: int, end: int) -> Iterator[NearTag]:
    """Yield near references: with blanks, a subscript, a type on a read, or several names."""
    for match in _NEAR_TAG.finditer(text, start, end):
        colon, (path, after) = match["writes"], _split_path(match)
        written = " ".join(re.sub("\0+", "{...}", match[0]).split())
        reason, is_typed = f"`{written}` is plain text", False
        if _has_keyword(path):
            continue
        if not after.strip():
            hint = f"write `<{colon}{path}>`, without blanks"
        elif after[0] in "[(":
            hint = f"name the variable, `<{colon}{path}>`, and describe the part in words"
        elif after.lstrip()[0] == ",":
            hint = f"give each name its own brackets: `<{colon}{path}>`"
        elif after.lstrip()[0] == ":" and not colon:
            hint = f"only an output has a type: `<:{path}{after}>`; to read it, write `<{path}>`"
            is_typed = bool(_BUILTIN_TYPE.match(after) and parse_type(after.lstrip()[1:]))
        elif colon:
            hint = f"write `<:{path}>` or `<:{path}: TYPE>`"
        else:
            continue
        root = unicodedata.normalize("NFKC", path).partition(".")[0]
        at = match.start(), match.end()
        yield NearTag(root, bool(colon), *at, reason, hint, is_typed)
    for match in _UNCLOSED_TAG.finditer(text, start, end):
        colon, (path, after) = match["writes"], _split_path(match)
        if not _has_keyword(path) and re.match(_NAME_END, after):
            written = f"<{colon}{path}"
            reason = f"`{written}` has no closing `>`, so it is plain text"
            hint = f"write `{written}>`; if this is text, `<{written}`"
            root = unicodedata.normalize("NFKC", path).partition(".")[0]
            at = match.start(), match.start() + len(written)
            yield NearTag(root, bool(colon), *at, reason, hint)


def _read_typed_tag(text: str, match: re.Match[str], path: str) -> Tag | None:
    """Read `<:path: TYPE>`: the type ends at the first `>` that leaves a Python expression."""
    first = end = text.find(">", match.end(), match.end() + _MAX_TYPE_LENGTH)
    tried = 0
    while end >= 0 and (tried := tried + 1) <= _MAX_TYPE_ENDS:
        if (annotation := parse_type(text[match.end() : end])) is not None:
            if _has_keyword(path):
                return KeywordTag(path, True, match.start(), end + 1)
            if "<<" in text[match.end() : end]:
                annotation = _UNESCAPER.visit(copy.deepcopy(annotation))
            return Reference(path, True, match.start(), end + 1, format_annotation(annotation))
        end = text.find(">", end + 1, match.end() + _MAX_TYPE_LENGTH)
    on_one_line = first >= 0 and "\n" not in text[match.end() : first]
    return MistypedTag(path, match.start(), first + 1) if on_one_line else None


class _StringUnescaper(ast.NodeTransformer):
    """Replaces `<<` in strings with `<`, as in the prompt that is shown; others are operators."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, str):
            return ast.Constant(node.value.replace("<<", "<"))
        return node


_UNESCAPER = _StringUnescaper()


def _has_keyword(path: str) -> bool:
    return any(keyword.iskeyword(part) for part in path.split("."))


_NON_TYPE_NODES = (
    *(ast.Tuple, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp),
    *(ast.GeneratorExp, ast.Starred, ast.Compare, ast.BoolOp, ast.IfExp, ast.UnaryOp),
)  # fmt: skip
_NON_TYPE_PARTS = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda, ast.JoinedStr)


def is_type(expression: ast.expr) -> bool:
    """Return whether an expression can be a variable's annotation."""
    match expression:
        case ast.Constant(value=str(quoted)) if parse_type(quoted) is None:
            return False
        case ast.Constant(value=value) if not (value is None or isinstance(value, str)):
            return False
        case ast.BinOp(left=left, op=operator, right=right) if not (
            isinstance(operator, ast.BitOr) and is_type(left) and is_type(right)
        ):
            return False
    return not isinstance(expression, _NON_TYPE_NODES) and not any(
        isinstance(node, _NON_TYPE_PARTS) for node in ast.walk(expression)
    )


@functools.lru_cache(maxsize=1024)
def parse_type(text: str) -> ast.expr | None:
    """Parse the text of a type; None if it is not a type."""
    try:
        with warnings.catch_warnings(action="ignore"):
            expression = ast.parse(f"({text.strip()}\n)", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return expression if is_type(expression) else None


def list_variables(tree: ast.AST | None) -> list[str]:
    """Return the variables in an expression, a type or other code, once for each occurrence."""
    nodes = ast.walk(tree) if tree is not None else ()
    return [node.id for node in nodes if isinstance(node, ast.Name)]


_QUOTED_BYTES = re.compile(r"""\bb'((?:[^"'\\]|\\.)*)'""")
_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def format_annotation(annotation: ast.expr) -> str:
    """Return an annotation in black's format: one line, double quotes unless they need escapes."""
    if isinstance(annotation, ast.Name):
        return annotation.id
    named = _StringNamer()
    if any(isinstance(node, ast.Constant) for node in ast.walk(annotation)):
        annotation = named.visit(copy.deepcopy(annotation))
    text = _QUOTED_BYTES.sub(r'b"\1"', ast.unparse(annotation))
    return re.sub(r"\b_string(\d+)_\b", lambda name: named.strings[int(name[1])], text)


class _StringNamer(ast.NodeTransformer):
    """Replaces strings with names, and records how the strings are spelled."""

    def __init__(self) -> None:
        self.strings: list[str] = []

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, str):
            return node
        self.strings.append(format_string(node.value))
        return ast.Name(f"_string{len(self.strings) - 1}_", ast.Load())


def format_string(text: str) -> str:
    """Format a string like `repr`, but alike in all Python versions: what is printable changes."""
    quote = "'" if '"' in text else '"'
    escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return quote + _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], escaped) + quote


def blank_fields(literal: str, prefix: str) -> str:
    """Blank the `{...}` fields in the source of a string with this prefix; offsets are kept."""
    kept, position = [], 0
    letters = prefix.lower()
    for start, end in find_fields(literal, "r" in letters) if "f" in letters else ():
        kept += [literal[position:start], "\0" * (end - start)]
        position = end
    return "".join([*kept, literal[position:]])


def find_fields(literal: str, raw: bool) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each `{...}` field, with its braces, in an f-string's source."""
    position = 0
    while position < len(literal):
        two = literal[position : position + 2]
        if two in ("{{", "}}"):
            position += 2
        elif not raw and two == "\\N" and literal[position + 2 : position + 3] == "{":
            position = literal.find("}", position) + 1 or len(literal)
        elif not raw and two[:1] == "\\" and two != "\\{":
            position += 2
        elif two[:1] == "{":
            end = _find_field_end(literal, position + 1)
            yield position, end
            position = end
        else:
            position += 1


_STRING_LITERAL = re.compile(
    r'"""(?:[^\\]|\\.)*?"""'
    + r"|'''(?:[^\\]|\\.)*?'''"
    + r'|"(?:[^"\\]|\\.)*"|'
    + r"'(?:[^'\\]|\\.)*'",
    re.DOTALL,
)


def _find_field_end(literal: str, position: int) -> int:
    """Return the end of the replacement field with its expression at `position`."""
    position = find_expression_end(literal, position)
    while position < len(literal) and literal[position] not in ":}":  # a conversion, such as `!r`
        position += 1
    if literal[position : position + 1] == ":":
        return _find_format_end(literal, position + 1)
    return min(position + 1, len(literal))


def find_expression_end(literal: str, position: int) -> int:
    """Find the end of a field's expression: the `!`, `:` or `}` after it."""
    depth = 0
    while position < len(literal):
        character = literal[position]
        if character in "\"'" and (quoted := _STRING_LITERAL.match(literal, position)):
            position = quoted.end()
            continue
        if character in "([{":
            depth += 1
        elif character in ")]" or (character == "}" and depth):
            depth -= 1
        elif not depth and (
            character in ":}" or (character == "!" and literal[position + 1 : position + 2] != "=")
        ):
            return position
        position += 1
    return position


def _find_format_end(literal: str, position: int) -> int:
    """Return the end of the field with its format specification at `position`."""
    while position < len(literal):
        if literal[position] == "{":
            position = _find_field_end(literal, position + 1)
        elif literal[position] == "}":
            return position + 1
        else:
            position += 1
    return position
