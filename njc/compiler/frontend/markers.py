'''String literals that are natural blocks, and the options on their first line.

    """natural                                       a block
    r\'\'\'prompt(max_effects=20, model="m")            a block, with options
    """natural(interface=shop.INTERFACE)             a block with an interface
    """Natural      """ natural      ("""natural      nearly a block: reported, never ignored
    """natural language processing."""               a string like any other
    """natural(mode="live"                           a block with a mistake in its options

All decisions use the literal's source text: the tree no longer shows how it was quoted.
'''

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from njc.compiler.frontend.prompt_references import PATH, blank_fields
from njc.compiler.frontend.source import find_string_tokens
from njrt.data.options import NO_OPTIONS, Options, find_option_problem
from njrt.data.records import record

OPENING = re.compile(
    r"(?P<prefix>[rRuUfF]{0,2})(?P<quotes>\"{3}|'{3})(?P<marker>natural|prompt)[ \t]*"
    r"(?P<options>\([^\r\n]*\)|\([ \t]*\w+[ \t]*=[^\r\n)]*)?[ \t]*(?:\r\n|\n|\r)"
)
_NEAR_MISS = re.compile(
    r"(?P<prefix>\w{0,2})(?P<quotes>\"{3}|'{3})(?P<before>["
    r" \t\f\\\r\n]*)(?P<marker>natural|prompt)\b"
    r"(?P<after>[^\r\n]*)",
    re.IGNORECASE,
)
_REST_OF_STRING = {
    '"""': re.compile(r'[^\\"]*(?:(?:\\.|"(?!""))[^\\"]*)*"""', re.DOTALL),
    "'''": re.compile(r"[^\\']*(?:(?:\\.|'(?!''))[^\\']*)*'''", re.DOTALL),
}


def match_opening(literal: str) -> re.Match[str] | None:
    """Match the marker line of a literal if it is a natural block: one string with a marker."""
    opened = OPENING.match(literal)
    return opened if opened and _is_one_token(literal, opened) else None


def match_marker(literal: str) -> re.Match[str]:
    """Match the marker line of a literal that is known to be a natural block."""
    opened = OPENING.match(literal)
    assert opened, "a block starts with its marker"
    return opened


def extract_prompt_text(literal: str, opened: re.Match[str]) -> str:
    """Return the prompt's source text, with the fields of an f-string blanked."""
    return blank_fields(literal, opened["prefix"])[opened.end() : -3]


@record
class OptionProblem:
    """A mistake in the options, and its characters."""

    start: int
    end: int
    message: str


@record
class InterfaceName:
    """A block's interface, as a name such as `shop.INTERFACE`, and its offsets in a text."""

    path: str
    start: int
    end: int

    @property
    def root(self) -> str:
        """The variable at the start of the path."""
        return self.path.partition(".")[0]


@record
class WrittenOptions:
    """The contents of the parentheses after a marker."""

    options: Options = NO_OPTIONS
    interface: InterfaceName | None = None
    ahead: int | None = None
    """How many requests of a loop are sent at the same time."""
    problems: tuple[OptionProblem, ...] = ()


NO_WRITTEN_OPTIONS = WrittenOptions()


def parse_options(text: str) -> WrittenOptions:
    """Read `(model="...", max_effects=20, interface=shop.INTERFACE, ahead=8)`."""
    try:
        call = ast.parse(f"_{text}", mode="eval").body
    except (SyntaxError, ValueError):
        call = None
    if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
        is_closed = text.endswith(")")
        message = "options are keyword arguments" if is_closed else "`)` is missing on this line"
        return WrittenOptions(problems=(OptionProblem(0, len(text), message),))
    settings: dict[str, Any] = {}
    interface: InterfaceName | None = None
    ahead: int | None = None
    problems: list[OptionProblem] = []
    given: list[str] = []
    encoded = text.encode()
    for keyword in call.keywords:
        columns = keyword.col_offset, keyword.value.col_offset, keyword.end_col_offset or 0
        start, value, end = (len(encoded[: column - 1].decode()) for column in columns)
        path = ast.unparse(keyword.value)
        if keyword.arg in given:
            problems.append(OptionProblem(start, end, f"option `{keyword.arg}` is given twice"))
        elif keyword.arg == "interface" and path != "None" and re.fullmatch(PATH, path):
            interface = InterfaceName(path, value, end)
        elif keyword.arg == "ahead" and path in _WIDTHS:
            ahead = int(path)
        elif problem := _add_option(keyword, settings):
            problems.append(OptionProblem(start, end, problem))
        given += filter(None, [keyword.arg])
    if interface is not None:
        problems += _find_interface_problems(settings, interface)
    return WrittenOptions(Options(**settings), interface, ahead, tuple(problems))


_WIDTHS = frozenset(map(str, range(2, 33)))
"""The values of `ahead`, as Python writes them."""


def _find_interface_problems(
    settings: Mapping[str, Any], interface: InterfaceName
) -> Iterator[OptionProblem]:
    at = interface.start, interface.end
    if "effects" in settings:
        yield OptionProblem(*at, "a block has an interface or an effect set, not both")
    if settings.get("mode", "live") != "live":
        yield OptionProblem(
            *at, "a block with an interface is live: static code requests no effects"
        )


def _add_option(keyword: ast.keyword, settings: dict[str, Any]) -> str | None:
    """Add one option to the settings, or return its problem."""
    if keyword.arg == "interface":
        return "option `interface` must be a name, such as `shop.INTERFACE`"
    if keyword.arg == "ahead":
        return "option `ahead` must be a whole number from 2 to 32"
    if keyword.arg is None:
        return "options cannot be unpacked: write each as `name=value`"
    try:
        value = ast.literal_eval(keyword.value)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return f"option `{keyword.arg}` must be a literal value"
    problem = find_option_problem(keyword.arg, value)
    if problem is None:
        settings[keyword.arg] = value
    return problem


def _is_one_token(literal: str, opened: re.Match[str]) -> bool:
    """Return whether a literal is one string; `ast` folds implicit concatenation into one node."""
    rest = _REST_OF_STRING[opened["quotes"]].fullmatch(literal, opened.end("quotes"))
    if rest is not None or "f" not in opened["prefix"].lower():
        return rest is not None
    # From Python 3.12 on, an f-string's fields may contain its own kind of quotes.
    return (0, len(literal)) in find_string_tokens(literal)


@record
class NearMiss:
    """A literal that is almost a natural block: the range of its marker, and the problem."""

    start: int
    end: int
    reason: str


def find_near_miss(literal: str, is_docstring: bool) -> NearMiss | None:
    """Return why a literal that is not a natural block may have been meant as one."""
    nearly = _NEAR_MISS.search(literal)
    reason = _explain_near_miss(literal, nearly, is_docstring) if nearly else None
    return NearMiss(nearly.start(), nearly.end("marker"), reason) if nearly and reason else None


def _explain_near_miss(literal: str, nearly: re.Match[str], is_docstring: bool) -> str | None:
    marker, after = nearly["marker"], nearly["after"]
    if literal[: nearly.start()].strip(" \t\f\r\n("):
        return None
    if nearly.start():
        inner = literal[nearly.start() :]
        meant = OPENING.match(inner) or find_near_miss(inner, is_docstring=False)
        return "a natural block cannot be in parentheses" if meant else None
    if OPENING.match(literal):
        return "a natural block cannot be joined with another string"
    spans_lines = "\n" in literal or "\r" in literal
    if set(nearly["prefix"].lower()) - set("ruf"):
        return (
            f"a natural block cannot have the prefix `{nearly['prefix']}`" if spans_lines else None
        )
    if spans_lines and re.fullmatch(r"\s*(?:\(.*\))?\s*", after):
        if nearly["before"]:
            return f"`{marker}` must follow the quotes at once"
        if marker.islower():
            return f"the line of `{marker}` has a blank other than spaces and tabs"
        return f"a natural block starts with `{marker.lower()}` in small letters"
    is_meant = re.search(r"<:?[^\W\d][\w.]*[:>]", literal) or (spans_lines and not is_docstring)
    if is_meant and not nearly["before"] and marker.islower():
        return f"the prompt must start on the line after `{marker}`"
    if marker.islower() and re.fullmatch(r"(?:\(.*\))?(?:\"{3}|'{3})", after):
        return f"the prompt after `{marker}` is missing"
    return None
