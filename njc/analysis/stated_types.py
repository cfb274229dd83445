"""Types that a program states in words or in code but does not annotate: only hints, never assumed.

    Compute the mean of <a> and <b> as <:mean>, a float.        `mean` is a float: write `<:mean: float>`
    Read <letter> into <:cart> as a <Cart>.                     `cart` is a Cart
    Decide into <:polite> whether <mail> is polite.             `polite` is a bool
    Rate <text> as <:mood>: either good, fair, or bad.          `mood` is a Literal["good", "fair", "bad"]
    Read <letter> as a <Cart>, and save it as <:c>.             `c` is a Cart
    Keep the odd <numbers>. Store the result in <:odd>.         `odd` has the type of `numbers`: list[int]
    return title                                                `title` is the result of the function: `-> str`
    Message(body=reply)                                         `reply` has the type of the field `body`
    f("..."), text.split()                                      the parameter `text` is a str

Not detected: words in other languages, types that follow from code in other files. If two differ, there is no hint.
"""

from __future__ import annotations

import ast
import functools
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from types import MappingProxyType

from njc.analysis.inference import TypeReader
from njc.analysis.types import Typed, unquote
from njc.analysis.words import compile_words
from njc.frontend.blocks import NaturalBlock
from njc.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.frontend.name_resolution import (
    Definition,
    FunctionDefinition,
    Global,
    NameScope,
    list_children,
    list_named_parameters,
    resolve_name,
)
from njc.frontend.prompt_references import Reference, format_annotation, list_variables, parse_type
from njc.frontend.source import SourceFile
from njrt.records import record

_SCALARS = {
    "float": r"float(?:ing[- ]point number)?s?|decimal numbers?",
    "int": r"int(?:eger)?s?|whole numbers?",
    "bool": r"bool(?:ean)?s?",
    "str": r"str(?:ing)?s?|texts?",
}
_TEXTS = (
    "words|names|sentences|lines|claims|statements|titles|phrases|keywords|tags|topics|questions|facts|hints|ideas|steps"
    "|suggestions|reasons|addresses|cities|countries|ingredients"
)
_MEMBERS = {**_SCALARS, "str": rf"{_SCALARS['str']}|{_TEXTS}"}
_SCALAR = "|".join(f"(?P<{name}>{words})" for name, words in _SCALARS.items())
_TYPE = rf"(?:an?\s+|the\s+)?(?:(?P<many>list|set|tuple)\s+of\s+(?P<member>{'|'.join(_MEMBERS.values())})|{_SCALAR})\b"
_SENTENCE_END = re.compile(r"[.;!?](?:\s|\Z)")
_RESULT_END = re.compile(rf"{_SENTENCE_END.pattern}|<:[^>]*>")
"""The end of the text about an output: the end of its sentence, or another output."""
_COLLECTIONS = "list|set|tuple|dict|dictionary|array|vector|sequence"
_GOES_ON = (
    r"(?!\s+(?!(?:of|in|from|for|about|that|which|between|on|to|by|if|when|whether|and|or|unless|at|as|rounded|within|using|based|describing|greater|less|without|into|so|because|depending|given|the|an?)\b)\w)"
    rf"(?!\s+(?:{_COLLECTIONS}|string|text|expression|literal)s?\b|\s+in\s+an?\s+(?:{_COLLECTIONS})\b"
    r"|(?:(?!\b(?:whether|if|when|that|which|from|between)\b)[^.!?]){0,40}?[ ,;(]\s*(?:or|unless)\s+(?!none\b|null\b|raise|break|continue|return|stop|skip|end))"
)
"""Another noun, or an alternative, after which the words mean another type."""
_AFTER = compile_words(rf"\s*(?:[,(:-]\s*)?(?:(?:as|being|which is|is|be)\s+)?{_TYPE}{_GOES_ON}")  # fmt: skip
_AS_OTHER = compile_words(rf"\bas\s+(?:an?\s+)?(?:[\"'“‘\d]|(?P<type>{_COLLECTIONS}|{'|'.join(_SCALARS.values())})\b)")  # fmt: skip
"""A form of the result that may differ from its type: `as "yes" or "no"`."""
_GIVES = "save|write|set|put|use|say|store|give|answer|as|or|to|else|otherwise"
_OTHER_VALUE = compile_words(rf"\b(?:{_GIVES})\s+[\"'“‘]")
"""A text as the result, which is not a number."""
_THIRD_VALUE = compile_words(r"\bor\s+(?!not\s*(?:[,.;]|\b(?:in|into|as)\b|\Z)|false\b)")  # fmt: skip
_BEFORE = compile_words(rf"(?P<form>\bas\s+)?\b{_TYPE}(?:\s+|(?(form)(?:\s*:\s*|\s+(?:to|in|into)\s+)|(?!)))\Z")  # fmt: skip
_CLASS = compile_words(r"\s*,?\s*(?:as|being|which is|is)?\s*an?\s+\Z|\s*,?\s+as\s+\Z")
_WHETHER_AFTER = compile_words(
    r"\s*,?\s*(?:whether|if)\b|[^.;]*\btrue\b[^.;]*\bfalse\b"
    r"|\s+is\s+true\s+(?:if|when|exactly|only)\b(?![^.]*\b(?:otherwise|else)\b(?![^.]*\bfalse\b))"
)
_WHETHER_BEFORE = compile_words(
    r"\bwhether\b(?:(?!\band\b)[^,;])*\b(?:as|in|into)\s+\Z"
    r"|\b(?:decide|check|judge|determine|see)\s+(?:whether|if)\b(?:(?!\b(?:and|or)\b)[^,;:])*:\s*\Z"
)
_MANY = compile_words(r"\b(?:list|set|tuple|dict(?:ionary)?)s?\s+of\b")
_STORED = compile_words(
    r"\b(?:save|store|put|write|assign|record|keep)s?\s+(?:it|them|this|that|(?:the|your)\s+(?:result|answer|label|decision)s?)"
    rf"(?:\s+as\s+{_TYPE})?\s+(?:to|in|into|as|under)\s+\Z"
)
"""The words before a reference that takes a result; the text before them describes the result."""
_AS_A = compile_words(r"\bas\s+an?\s+\Z")
_ARTICLE = compile_words(r"\ban?\s+\Z")
_PICKS = compile_words(r"\b(?:filter|remove|keep|select|sort|drop|deduplicate|reverse|order)\b")  # fmt: skip
_PICKS_ONE = compile_words(r"\b(?:the\s+[\w-]*[^s\W]|one|any)\s+(?:of|in|from)\b")
_LISTS = ("list", "set", "tuple", "collections.abc.Sequence", "typing.Sequence")
_MEASURES = "percent|points|hours|minutes|seconds|days|weeks|months|years|euros|dollars|cents|pounds|kilos|grams|degrees|units|(?:kilo)?met(?:re|er)s|miles|lit(?:re|er)s"
_NUMBER_OF = rf"\bthe\s+number\s+of\s+(?:[\w'-]+\s+){{0,4}}?(?!{_MEASURES})(?:<[\w.]+>|people|children|\w*[^suia\W]s)|\bhow\s+many(?!\s+(?:{_MEASURES}))"
_COUNT = compile_words(
    rf"(?:{_NUMBER_OF}|\bthe\s+count|(?:\A|[.,;:]|\band|\bthen)\s*count(?!\s+(?:from|down|up|back|to)))\b"
    r"(?:(?!\b(?:and|or|in\s+words|put|save|store|write)\b)[^,;:])*\b(?:as|in|into)\s+\Z"
)
_COUNT_AFTER = compile_words(rf"\s*[,:]?\s*(?!.*(?:\b(?:and|or|as|in\s+words)\b|[,;:]))(?:{_NUMBER_OF})\b")  # fmt: skip
_EACH = compile_words(r"\b(?:each|every|per|by)\b")
_OF_EACH = compile_words(r"\b(?:each|every|per|respectively)\b")
_PAIRED = compile_words(
    r"\b(?:with|each|per|by|grouped|paired|along|together|including|plus)\b|\band\s+(?!put|save|store|write|set|count|then"
    r"|stop|break|continue|return|raise)"
)
"""Words which suggest that a list has items other than texts or numbers."""
_OTHERWISE = compile_words(
    rf"(?:(?=\b(?:or|otherwise|else)\b)|\b(?:unless|if|when)\b)[^.!?]*?(?:\b(?:{_GIVES})\s+(?!(?:not|the|it|them|in|into"
    r"|raise|break|continue|return|stop|skip|none|null)\b|<)([^\s,;:.!?)]+)|\b(empty|blank|nothing|unknown|unclear)\b)"
)
"""A value for another case, which the type may not include."""
_DECIDES = compile_words(r"\b(?:whether|true|false|yes|no|(?:decide|check|judge|see) if)\b")  # fmt: skip
_AND_ANOTHER = compile_words(rf"\A[^.;!?]*\b(?:and\s+(?:how|why|whether|wh(?:at|ich|o|ose|ere|en)|(?:an?|one)\s+\w+)|as\s+well\s+as)\b|\A\s*(?:[,(:-]\s*)?(?:(?:as|being|which is|is)\s+)?{_TYPE}\s*,?\s*(?:\b(?:and|plus|with)\b\s+(?:an?|the|its|their|one|two|\d+|number|list|name)|per)\b")  # fmt: skip
_APPOSITION = compile_words(r"\s*(?:,\s*(?:as\s+)?|as\s+)(?:an?|two|three)\s+(\w+)")
_IN_A_LIST = compile_words(rf"\s*(?:in|inside|as)\s+an?\s+({_COLLECTIONS})\b")
_JUST_ONE = compile_words(r"\b(?:just|(?:only|there is) one)\b")
_OR_ANOTHER = compile_words(r"\s*,?\s*(?:or|and)\s+(?:an?\s+|the\s+)?(?!an?\b|the\b|raise|break|continue|return|stop|skip|save|store|put|write)[\w<]")  # fmt: skip
_DOES_MORE = re.compile(r",\s*\w|\b(?:and|as|per|each)\b|\A(?!.*\b(?:sort|order)).*\bby\b", re.IGNORECASE | re.DOTALL)  # fmt: skip
"""Words for more than a choice among a list's items."""
_MEMBERS_NAMED = compile_words(rf"\b(?:list|lines|{_TEXTS})\b")
_NO_WORD = compile_words(r"true|false|none|null|nothing|more|less|other|another|something|zero|one|two|three|four|five|six|ten|why|how|both|neither")  # fmt: skip
_IN_ANOTHER_FORM = compile_words(
    r"\b(?:lists?|sets?|tuples?|dict\w*|arrays?|sentences?|pairs?|start\w*|begin\w*|contain\w*|number|count|opposite|reason"
    r"|each|every|both|not|never|follow\w*|plus|why|explain|all|results|with an?|(?:and|or) one of)\b"
)
_WORD = r"[\"'“‘]?([\w-]+)[\"'”’]?"
_CHOICE = compile_words(rf"\b(?:either|one of:?|(?:classify|categori[sz]e|label|rate)\s+(?:the\s+)?<[\w.]+>\s+as)\s+((?:{_WORD}\s*,\s*)*{_WORD}\s*,?\s+or\s+{_WORD})(?![\w\"'”’/%*-]|\.\d|\s*,?\s*or\b|\s*,?\s+(?!(?:and(?!\s+(?:why|how|an?|the|its)\b)|(?:in|as)\s+<:|into|to|by|from|if|when|for(?!\s+(?:each|every|all)\b)|depending|based|according)(?:\b|(?<=:)))[\w<])")  # fmt: skip
_TEXT_METHODS = frozenset(
    {"capitalize", "casefold", "endswith", "islower", "isupper", "lower", "lstrip", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper"}
)  # fmt: skip


@record
class StatedType:
    """A type that the program states for a reference or a parameter."""

    name: str
    type: str
    start: int
    end: int
    written: str
    """The replacement for the text from `start` to `end`."""


def find_type_hints(
    source: SourceFile, blocks: Sequence[NaturalBlock], types: TypeReader
) -> Iterator[Diagnostic]:
    """Report the types that are stated for blocks' outputs and for the parameters that they read."""
    reported: set[StatedType] = set()
    for block in blocks:
        found = [*_find_output_types(block, types), *_find_parameter_types(source, block)]
        for stated in found:
            if stated not in reported and _means_the_same(stated.type, block, types):
                reported.add(stated)
                yield _make_hint(source, block, stated, types)


def _means_the_same(type_: str, block: NaturalBlock, types: TypeReader) -> bool:
    """Return whether the names in a type mean the same in the block and in its function's signature."""
    scope = block.scope
    outside = scope.signature_scope if "function" in scope.kind else scope
    for name in list_variables(parse_type(type_)):
        home = resolve_name(name, scope, types.outputs)
        is_own = home == scope.as_home and types.find_definition(name, scope) == "class"
        if not is_own and home != resolve_name(name, outside, types.outputs):
            return False
        is_known = name == "Literal" and isinstance(home, Global) and home.known
        if is_known and "." not in types.name_of(Typed(ast.Name(name, ast.Load()), scope)):
            return False
    return True


def _make_hint(
    source: SourceFile, block: NaturalBlock, stated: StatedType, types: TypeReader
) -> Diagnostic:
    is_missing = types.is_builtin("Literal", block.scope)
    needs_import = is_missing and stated.type.startswith("Literal[")
    message = f"`{stated.name}` is `{stated.type}` by the words or the code around it, and has no annotation"
    hint = f"write `{stated.written}`" + needs_import * f", and `{LITERAL_IMPORT}`"
    found = make_diagnostic(
        source, "NJ308", stated.start, stated.end, message, hint, stated.written
    )
    return replace(found, imports=LITERAL_IMPORT) if needs_import else found


LITERAL_IMPORT = "from typing import Literal"

_Calls = dict[str, list[tuple[ast.Call, dict[str, ast.expr]]]]
"""The calls of functions, by name, each with the annotated parameters of the function around it."""
_Signatures = dict[str, dict[str, ast.expr]]
"""The annotated fields of classes and parameters of functions at the top of the file, in order."""


@dataclass(slots=True)
class _Uses:
    """How some code uses its variables, by name (state: the collected uses)."""

    tested: Counter[str] = field(default_factory=Counter)
    """How often the variable alone is a condition."""
    returned: set[str] = field(default_factory=set)
    given_up: set[str] = field(default_factory=set)
    """Variables that the code binds again, or tests the type of: they show no type of an output."""
    needs: dict[str, set[str]] = field(default_factory=dict)
    """The attributes used of each variable, `[]` for an item and the like."""
    compared: dict[str, list[object]] = field(default_factory=dict)
    """The constants that each variable is compared with."""
    texts: set[str] = field(default_factory=set)
    """Variables on which a `str` method is called."""
    members: dict[str, str] = field(default_factory=dict)
    """The loop variable of the loop over each variable."""
    passed: dict[str, list[tuple[str, str | int]]] = field(default_factory=dict)
    """The arguments that are just the variable: the called function, and the keyword or position."""


_BY_ITEMS = frozenset(
    ["len", "sum", "sorted", "max", "min", "list", "set", "tuple", "enumerate", "any", "all"]
)


@functools.lru_cache(maxsize=16)
def _collect_uses(code: ast.AST) -> _Uses:
    """Collect the uses in a scope's code, without the functions and classes inside."""
    uses = _Uses()
    own = [*_walk_own(code)]
    yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own)
    for node in own:
        match node:
            case ast.Return(value=ast.Name(id=name)) if not yields:
                uses.returned.add(name)
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                    test = test.operand
                if isinstance(test, ast.Name):
                    uses.tested[test.id] += 1
            case ast.Name(id=name, ctx=ast.Store()):
                uses.given_up.add(name)
            case ast.Match(subject=ast.Name(id=name), cases=cases):
                uses.given_up.add(name)
                for part in (part for case in cases for part in ast.walk(case.pattern)):
                    if isinstance(part, ast.Constant | ast.MatchSingleton):
                        uses.compared.setdefault(name, []).append(part.value)
            case ast.Compare(left=ast.Name(id=name), comparators=values):
                for value in values:
                    items = getattr(value, "elts", (value,))
                    constants = [each.value for each in items if isinstance(each, ast.Constant)]
                    uses.compared.setdefault(name, []).extend(constants)
            case ast.For(target=ast.Name(id=member), iter=ast.Name(id=name)):
                uses.members[name] = member
            case ast.Assign(targets=[ast.Tuple() | ast.List()], value=ast.Name(id=name)):
                uses.needs.setdefault(name, set()).add("[]")
            case ast.Starred(value=ast.Name(id=name)) | ast.comprehension(iter=ast.Name(id=name)):
                uses.needs.setdefault(name, set()).add("[]")
            case ast.Subscript(value=ast.Name(id=name), slice=key):
                is_key = isinstance(key, ast.Constant) and isinstance(key.value, str)
                uses.needs.setdefault(name, set()).add("[key]" if is_key else "[]")
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                uses.needs.setdefault(name, set()).add(attribute)
                if attribute in _TEXT_METHODS:
                    uses.texts.add(name)
            case ast.Call(func=ast.Name(id=called), args=positional, keywords=keywords):
                given = [*enumerate(positional), *((each.arg, each.value) for each in keywords)]
                is_starred = any(isinstance(each, ast.Starred) for each in positional)
                for at, value in given:
                    if at is None:
                        continue
                    if isinstance(value, ast.Name) and called == "isinstance":
                        uses.given_up.add(value.id)
                    elif isinstance(value, ast.Name) and called in _BY_ITEMS:
                        uses.needs.setdefault(value.id, set()).add("[]")
                    elif isinstance(value, ast.Name) and (isinstance(at, str) or not is_starred):
                        uses.passed.setdefault(value.id, []).append((called, at))
    return uses


def _walk_own(code: ast.AST) -> Iterator[ast.AST]:
    """Walk a scope's code, without the functions and classes inside."""
    waiting = list(getattr(code, "body", []))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Definition | ast.Lambda):
            waiting += list_children(node)


@functools.lru_cache(maxsize=1)
def _collect_calls(module: ast.AST) -> _Calls:
    calls: _Calls = {}
    waiting: list[tuple[ast.AST, dict[str, ast.expr]]] = [(module, {})]
    while waiting:
        node, known = waiting.pop()
        if isinstance(node, FunctionDefinition):
            known = _list_annotated(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            calls.setdefault(node.func.id, []).append((node, known))
        waiting += [(inner, known) for inner in list_children(node)]
    return calls


def _list_annotated(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, ast.expr]:
    given = list_named_parameters(function.args)
    return {each.arg: each.annotation or ast.Name("Any", ast.Load()) for each in given}


@functools.lru_cache(maxsize=1)
def _collect_signatures(module: ast.AST) -> _Signatures:
    found: _Signatures = {}
    for node in getattr(module, "body", ()):
        if isinstance(node, FunctionDefinition):
            found[node.name] = _list_annotated(node)
        elif isinstance(node, ast.ClassDef):
            found[node.name] = {
                each.target.id: each.annotation
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            }
            own_init = any(
                getattr(each, "name", "") in ("__init__", "__new__") for each in node.body
            )
            bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
            if own_init or not bases <= {"BaseModel", "NamedTuple", "TypedDict"}:
                del found[node.name]  # base class fields come first, and may have other types
    return found


# ── outputs ──────────────────────────────────────────────────────────────────────────────────────


def _find_output_types(block: NaturalBlock, types: TypeReader) -> Iterator[StatedType]:
    seen: set[str] = set()
    for reference in block.references:
        name = reference.path
        if not reference.writes or reference.is_dotted or reference.type or name in seen:
            continue
        seen.add(name)
        if block.is_fstring or types.output_type(name, block.scope) is not None:
            continue
        read, uses = _read_words(block, reference, types), _collect_uses(block.scope.node)
        found = [type_ for type_ in read if type_ and not _is_contradicted(type_, block, reference)]
        if name not in uses.given_up:
            found += [*_read_uses(block, reference, uses, types)]
            found += [*_read_passed(name, uses, block.scope.module)]
        is_contradicted = any(not _allows_uses(type_, name, uses) for type_ in found)
        if found[:1] and found[0].startswith("Literal["):  # which fits the type of its values
            found = [it for it in found if it != ("str" if '"' in found[0] else "int")]
        if found and len(set(found)) == 1 and not is_contradicted:
            found = [*_add_none(found[0], name, block)]
        if found and len(set(found)) == 1 and not is_contradicted:
            written = f"<:{name}: {found[0]}>"
            yield StatedType(name, found[0], reference.start, reference.end, written)


_NEAR = 2000
"""How many characters on each side of a reference may state its type; keeps each reference fast in long texts."""


def _get_surroundings(
    block: NaturalBlock, reference: Reference, near: int = _NEAR
) -> tuple[str, str]:
    """Return the nearest words before and after a reference."""
    first = block.end - 3 - len(block.words)
    at, end = reference.start - first, reference.end - first
    return block.words[max(0, at - near) : at], block.words[end : end + near]


def _list_references(block: NaturalBlock, start: int, end: int) -> Sequence[Reference]:
    """Return the references that start between two offsets."""
    found, get_start = block.references, attrgetter("start")
    return found[bisect_left(found, start, key=get_start) : bisect_left(found, end, key=get_start)]


def _is_contradicted(type_: str, block: NaturalBlock, reference: Reference) -> bool:
    """Return whether other words in the text give the output another form, or a value of another type."""
    before, after = _get_surroundings(block, reference)
    around = f"{_RESULT_END.split(before)[-1]}<:x>{_RESULT_END.split(after)[0]}"
    if type_ in ("int", "float", "bool") and _OTHER_VALUE.search(block.words):
        return True
    if type_ == "bool" and _THIRD_VALUE.search(around):
        return True
    listed = _IN_A_LIST.match(after)
    if (listed and not type_.startswith(listed[1].lower())) or (
        "[" in type_ and not type_.startswith("Literal[") and _JUST_ONE.search(after)
    ):
        return True
    apposed = _APPOSITION.match(after)
    if apposed and type_ in _SCALARS and not re.fullmatch(_SCALARS[type_], apposed[1].lower()):
        return True
    is_plain = type_ in _SCALARS or type_.startswith("Literal[")
    if is_plain and (_OF_EACH.search(around) or _AND_ANOTHER.search(after)):
        return True
    others = _OTHERWISE.findall(_CHOICE.sub("", before + after))
    if not all(_is_value_of(type_, (found or word).strip("\"'`“”‘’")) for found, word in others):
        return True
    if type_.startswith("Literal["):
        return _AS_OTHER.search(_CHOICE.sub("", around)) is not None
    return type_ in _SCALARS and any(
        not re.fullmatch(_SCALARS[type_], found["type"] or "", re.IGNORECASE)
        for found in _AS_OTHER.finditer(around)
    )


def _is_value_of(type_: str, word: str) -> bool:
    """Return whether a word may be a value of a type; each may be one of a text or an object."""
    if type_ in ("int", "float"):
        return re.fullmatch(r"-?\d+" + r"(?:\.\d+)?" * (type_ == "float"), word) is not None
    if type_ == "bool":
        return word.lower() in ("true", "false")
    if type_.startswith("Literal["):
        return word in re.findall(r"[\w-]+", type_.removeprefix("Literal"))
    return word.lower() != "nothing"


def _add_none(type_: str, name: str, block: NaturalBlock) -> Iterator[str]:
    """Yield the type, with `None` if the text allows it for this output; nothing if `None` is for something else."""
    allowed = [found[1] for found in _AS_NONE.finditer(block.words)]
    if "None" in type_ or (name not in allowed and len(_NONE.findall(block.words)) == len(allowed)):
        yield type_
    elif name in allowed:
        yield f"{type_} | None"


_NONE = re.compile(r"\b(?:None|null)\b")
_AS_NONE = re.compile(r"<:(\w+)>\s+(?:as|to|is|=|is set to|stays)\s+`?(?:None|null)\b")


def _read_words(block: NaturalBlock, reference: Reference, types: TypeReader) -> Iterator[str]:
    """Yield the type that the words around a reference state; the nearest words count."""
    before, after = _get_surroundings(block, reference)
    found = _AFTER.match(after) or _BEFORE.search(before)
    if found is not None:
        rest = _RESULT_END.split(after[found.end() :] if found.string is after else after)[0]
        if not (found["many"] and (_PAIRED.search(rest) or _names_class(rest, block, types))):
            yield _name_type(found)
        return
    other = next(iter(_list_references(block, reference.end, reference.end + _NEAR)), None)
    gap = after[: other.start - reference.end] if other is not None else ""
    if other is not None and _CLASS.fullmatch(gap) and not other.writes:
        is_only = not _OR_ANOTHER.match(after[other.end - reference.end :])
        if is_only and types.find_definition(other.path, block.scope) == "class":
            yield other.path
        return
    if (stored := _STORED.search(before)) is not None:
        yield from _read_stored(block, reference, before[: stored.start()], stored, types)
        return
    sentence = _RESULT_END.split(before)[-1], _RESULT_END.split(after)[0]
    if choice := _CHOICE.search(sentence[1]):
        first = reference.start - len(sentence[0])
        last = reference.end + len(sentence[1])
        if not _is_of_each(_list_references(block, first, last), block, types):
            yield from _format_literal(choice, sentence[1])
    elif _MANY.search(sentence[1]):
        return
    elif _WHETHER_AFTER.match(sentence[1]) or _WHETHER_BEFORE.search(sentence[0]):
        yield "bool"
    elif (_COUNT.search(sentence[0]) or _COUNT_AFTER.match(sentence[1])) and not any(
        map(_EACH.search, sentence)
    ):
        yield "int"
    else:
        yield from _find_namesake(block, reference, types)


def _read_stored(
    block: NaturalBlock, reference: Reference, before: str, stored: re.Match[str], types: TypeReader
) -> Iterator[str]:
    """Yield a stored result's type, as stated by the clause before it."""
    if any(stored[name] for name in ("many", *_SCALARS)):
        yield _name_type(stored)
        return
    clauses = [clause for clause in _SENTENCE_END.split(before) if clause.strip(" \n,")]
    clause = clauses[-1] if clauses else ""
    start = reference.start - len(stored.string) + before.rfind(clause)
    inside = _list_references(block, start, start + len(clause))
    for other in inside:
        if _AS_A.search(_get_surroundings(block, other, 20)[0]):
            if types.find_definition(other.path, block.scope) == "class":
                yield other.path
            return
    if choice := _CHOICE.search(clause):
        if not _is_of_each(inside, block, types):
            yield from _format_literal(choice, clause)
    elif _PICKS.search(clause) and not (_PICKS_ONE.search(clause) or _DOES_MORE.search(clause)):
        typed = [_infer(other, block, types) for other in inside]
        lists = [each for each in typed if each and _is_list(each, types)]
        if len(lists) == 1 and None not in typed:
            yield format_annotation(unquote(lists[0].annotation))
    else:
        yield from _find_namesake(block, reference, types)


def _is_of_each(inside: Sequence[Reference], block: NaturalBlock, types: TypeReader) -> bool:
    """Return whether a choice is about a list, and so may be made for each item."""
    read = [other for other in inside if not other.writes]
    return bool(read) and _is_list(_infer(read[0], block, types), types)


def _infer(reference: Reference, block: NaturalBlock, types: TypeReader) -> Typed | None:
    return types.infer(ast.Name(reference.path, ast.Load()), block.scope)


def _is_list(typed: Typed | None, types: TypeReader) -> bool:
    return typed is not None and types.name_of(types.expand(typed)) in _LISTS


def _find_namesake(block: NaturalBlock, output: Reference, types: TypeReader) -> Iterator[str]:
    """Yield the class that an output is named after, if the text asks for an instance: a <Cart> for `cart`."""
    for other in block.capitalized:
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", other.path).lower()
        is_one = _ARTICLE.search(_get_surroundings(block, other, 20)[0])
        if name == output.path and other.path != name and is_one:
            if types.find_definition(other.path, block.scope) == "class":
                yield other.path
            return


def _format_literal(choice: re.Match[str], sentence: str) -> Iterator[str]:
    """Yield a choice's type, if its words are the values, and the only values."""
    words = [word for word in re.findall(_WORD, choice[1]) if word.lower() != "or"]
    numbers = [word for word in words if re.fullmatch("-?(?:0|[1-9][0-9]*)", word)]
    around = re.sub(r"<[^>]*>", "", sentence.replace(choice[1], ""))
    is_other = _IN_ANOTHER_FORM.search(around) or any(map(_NO_WORD.fullmatch, words))
    if not is_other and numbers in ([], words):
        quote = "" if numbers else '"'
        yield f"Literal[{', '.join(f'{quote}{word}{quote}' for word in words)}]"


def _names_class(text: str, block: NaturalBlock, types: TypeReader) -> bool:
    """Return whether a text refers to a class of the program, which may be the items' class."""
    names = re.findall(r"<([\w.]+)>", text)
    return any(types.find_definition(name, block.scope) == "class" for name in names)


def _name_type(found: re.Match[str]) -> str:
    if found["many"]:
        member = next(name for name, words in _MEMBERS.items() if re.fullmatch(words, found["member"], re.IGNORECASE))  # fmt: skip
        kind = found["many"].lower()
        return f"tuple[{member}, ...]" if kind == "tuple" else f"{kind}[{member}]"
    return next((name for name in _SCALARS if found[name] and not found[name].endswith("s")), "")


def _read_uses(
    block: NaturalBlock, reference: Reference, uses: _Uses, types: TypeReader
) -> Iterator[str]:
    """Yield the types that the scope's code needs: from a return, tests, a `str` method, a loop."""
    scope, name = block.scope, reference.path
    returns = getattr(scope.node, "returns", None)
    if name in uses.returned and returns is not None and "function" in scope.kind:
        typed = types.expand(Typed(returns, scope.signature_scope))
        origin = types.name_of(typed).rpartition(".")[2]
        if origin not in _UNSPECIFIC and not isinstance(returns, ast.BinOp):
            yield format_annotation(unquote(returns))
    count = uses.tested[name]
    if count and count == list_variables(scope.node).count(name) and _DECIDES.search(block.words):
        yield "bool"
    if name in uses.texts:
        yield "str"
    if uses.members.get(name) in uses.texts and _MEMBERS_NAMED.search(block.words):
        yield "list[str]"


_ATTRIBUTES = {kind.__name__: {*dir(kind)} for kind in (str, int, float, bool)}


def _allows_uses(type_: str, name: str, uses: _Uses) -> bool:
    """Return whether the code's uses fit the variable's type: no item of a number, no `None` for a plain text."""
    compared, needs = uses.compared.get(name, ()), uses.needs.get(name, set())
    if None in compared and "None" not in type_:
        return False
    values = set(re.findall(r"[\w-]+", type_)) if type_.startswith("Literal[") else set()
    plain = "str" if '"' in type_ else "int" if values else type_
    if plain not in _SCALARS:
        return True
    if plain != "str" and ("[]" in needs or name in uses.members):
        return False
    if "[key]" in needs or not needs - {"[]"} <= _ATTRIBUTES[plain]:
        return False
    kinds = {"str": (str,), "bool": (bool,)}.get(plain, (int, float))
    return all(isinstance(each, kinds) and (not values or str(each) in values) for each in compared)


def _read_passed(name: str, uses: _Uses, module: NameScope) -> Iterator[str]:
    """Yield the annotations, without `None`, of the fields and parameters that a variable is passed to."""
    for called, at in uses.passed.get(name, ()):
        parameters = _collect_signatures(module.node).get(called, {})
        key = at if isinstance(at, str) else next(iter([*parameters][at : at + 1]), "")
        if (annotation := parameters.get(key)) is not None:
            text = format_annotation(unquote(annotation))
            text = re.sub(r"^(?:typing\.)?Optional\[(.*)\]$|\s*\|\s*None$", r"\1", text)
            if text.partition("[")[0].rpartition(".")[2] not in _UNSPECIFIC:
                yield text


_UNSPECIFIC = (
    *("Any", "object", "None", "Optional", "Union", "Callable", "Self", "TypeGuard", "TypeIs", "NoReturn", "Never"),
)  # fmt: skip


# ── parameters ───────────────────────────────────────────────────────────────────────────────────


def _find_parameter_types(source: SourceFile, block: NaturalBlock) -> Iterator[StatedType]:
    """Yield types of unannotated parameters that the block reads, from their defaults, uses and calls."""
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
        given = [_name_constant(defaults[name])] if name in defaults else []
        given += _find_arguments(block, position, name)
        found = [*given] + ["str"] * (name in _collect_uses(function).texts)
        if found and set(found) <= {"str", "int", "float", "bool"} and len(set(found)) == 1:
            start = source.get_offset(parameter.lineno, parameter.col_offset)
            end, written = start + len(name), f"{name}: {found[0]}"
            if (default := defaults.get(name)) is not None:
                first, end = source.get_span(default)
                written += f" = {source.text[first:end]}"
            yield StatedType(name, found[0], start, end, written)


def _find_arguments(block: NaturalBlock, position: int, name: str) -> Iterator[str]:
    """Yield the types of the file's arguments for a parameter of a top-level function; `?` if a type is unknown."""
    if block.scope.parent is None or block.scope.parent.kind != "module":
        return
    for call, known in _collect_calls(block.scope.module.node).get(block.scope.name, ()):
        if position < len(call.args):
            yield _name_constant(call.args[position], known)
        for keyword in call.keywords:
            if keyword.arg == name:
                yield _name_constant(keyword.value, known)


def _name_constant(value: ast.expr, known: Mapping[str, ast.expr] = MappingProxyType({})) -> str:
    """Return a constant's type, or the annotation of a parameter that is passed on."""
    if isinstance(value, ast.Name) and value.id in known:
        return format_annotation(unquote(known[value.id]))
    if isinstance(value, ast.JoinedStr):
        return "str"
    return type(value.value).__name__ if isinstance(value, ast.Constant) else "?"
