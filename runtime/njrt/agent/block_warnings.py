"""Find signs that a block has done nothing, or not what its text asks for: warnings, not errors.

    Keep <mail> in <praise> if it is praise.
        if "praise" in mail: praise.append(mail)         the code looks for "praise", a word of the prompt, in `mail`
        pass                                             the block has changed nothing
    Put a summary of <letter> into <:summary: str>.
        {"summary": "Dear Sir, ..."}                     `summary` only repeats `letter`

A model asked to judge a text often just searches it for words from the prompt, and the block completes. Not detected:
changes beyond the objects that the block reads, such as files; so code that calls the program's functions is exempt.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Any

from njrt.execution.side_effects import MUTATING, find_changed, find_root
from njrt.execution.snippet_analysis import parse_snippet
from njrt.scope.scope import Scope
from njrt.values.introspection import (
    is_exactly,
    list_slots,
    make_namespace_reader,
    read_attributes,
    read_slots,
)

MAX_OBJECTS = 400
MAX_ITEMS = 2_000
"""With more objects, or more items in one, nothing is compared."""
MIN_REPEATED = 40
"""Shorter texts may equal inputs by chance."""
_MIN_WORD = 4
_LITERAL = re.compile(
    r"\b(?:contain|includ|mention|start|beg[iu]n|end|word|letter|substring|prefix|suffix|spell|sa(?:y|id)|read|match|search|literal|exact)",
    re.IGNORECASE,
)
"""Words in a prompt that may ask for a literal test of words."""
_REPEATING = re.compile(
    r"\b(?:copy|repeat|correct|fix|clean|mask|replace|normali[sz]e|format|strip|trim|anonymi|redact|keep|leave|unchanged|same|choose|pick"
    r"|select|find|first|last|longest|best|extract|quote|return|translate|sort|remov|delet|drop|omit|without|shorten|cut|truncat|limit|at most"
    r"|censor|hide|blank|substitut|obfuscat|pseudonym|escap|encod|decod|convert|reformat|standardi|upper|lower|capital|wrap|indent|dedup|merge|join"
    r"|complet|fill|expand|proofread|spell|edit|revis|adapt|adjust|polish|improv|ensure|make sure|if|unless|when|otherwise|need|necess|already"
    r"|english|german|french|spanish|italian|portuguese|dutch|russian|chinese|japanese|korean|arabic|turkish|swedish|danish|czech|greek|latin|language)",
    re.IGNORECASE,
)
"""Words in a prompt that allow an output to equal an input."""
_CONDITION = re.compile(
    r"\b(?:if|when|unless|whether|only|any|those|that,|that\s+(?:is|are|was|were|has|have|do|does|did|\w+s)|wh(?:ich|o|ose)|except|until|should|may|maybe"
    r"|might|can|could|matching|without|(?:remov|delet|drop|filter|fix|correct|repair|replac|clean|trim|strip|dedup|mask|censor|normali[sz])\w*"
    r"|duplicates?|missing|empty|invalid|wrong|errors?|typos?|mistakes?|needed|necessary)\b",
    re.IGNORECASE,
)
"""Words in a prompt that allow the block to change nothing."""
_SEARCHING = frozenset(
    ["startswith", "endswith", "find", "rfind", "count", "index", "search", "match", "fullmatch"]
)
_CHANGING = MUTATING | frozenset(
    [
        *("lower", "upper", "strip", "split", "join", "startswith", "endswith", "find"),
        *("replace", "format", "get", "keys", "values", "items", "index", "count", "copy", "title", "casefold", "isdigit"),
    ]
)  # fmt: skip
"""Methods that change at most their own object."""
_COMPUTING = frozenset(
    [
        *("len", "str", "int", "float", "bool", "list", "dict", "set", "tuple", "sorted", "any", "all", "sum", "min", "max"),
        *("range", "enumerate", "zip", "isinstance", "reversed", "abs", "round", "map", "filter"),
    ]
)  # fmt: skip


def find_word_tests(
    tree: ast.AST, instruction: str, variables: Mapping[str, Any] = MappingProxyType({})
) -> Iterator[tuple[str, str]]:
    """Yield the words of the prompt that code looks for, each with the searched expression.

    `variables` are the block's, with their values: a word may be a key or a member of a value that is not a text.
    """
    if _LITERAL.search(instruction):
        return
    quoted = " ".join(re.findall(r"[\"'“‘`]([^\"'”’`]+)[\"'”’`]", instruction)).lower()
    plain = re.sub(r"<[^>]*>", " ", instruction.lower())
    words = set(re.findall(rf"[^\W\d_]{{{_MIN_WORD},}}", plain))
    made = set(_list_made_containers(tree))
    loops = {each.target.id: each.iter for each in _list_loops(tree)}
    for text, where in _list_searches(tree):
        word = text.strip().lower()
        if word in quoted or not _may_be_text(where, variables, loops, made):
            continue
        if any(
            word == each or (len(word) >= _MIN_WORD and each.startswith(word)) for each in words
        ):
            yield text, ast.unparse(where)


def _list_loops(tree: ast.AST) -> Iterator[Any]:
    """Yield the loops and comprehensions that bind a single variable."""
    for each in ast.walk(tree):
        if isinstance(each, ast.comprehension | ast.For) and isinstance(each.target, ast.Name):
            yield each


def _may_be_text(
    where: ast.expr, variables: Mapping[str, Any], loops: Mapping[str, ast.expr], made: Set[str]
) -> bool:
    """Return whether an expression may be a string, by the program's values; a name without a value may be one."""
    while isinstance(where, ast.Call) and isinstance(where.func, ast.Attribute):
        where = where.func.value
    if isinstance(where, ast.Name) and where.id not in variables and where.id not in loops:
        return where.id not in made
    if isinstance(where, ast.Call) and isinstance(where.func, ast.Name):
        return True
    return any(type(value) is str for value in _find_values(where, variables, loops))


def _find_values(
    where: ast.expr, variables: Mapping[str, Any], loops: Mapping[str, ast.expr]
) -> list[Any]:
    """Return the values that an expression may have, without running the program's code; empty if unknown."""
    match where:
        case ast.Name(id=name) if name in variables:
            return [variables[name]]
        case ast.Name(id=name) if name in loops:
            inner = {each: loops[each] for each in loops if each != name}
            found = _find_values(loops[name], variables, inner)
            return [*islice((item for each in found for item in _list_items(each)), MAX_ITEMS)]
        case ast.Attribute(value=owner, attr=name):
            found = [read_attributes(each) for each in _find_values(owner, variables, loops)]
            return [each[name] for each in found if name in each]
        case ast.Call(func=ast.Attribute(value=owner)):
            return _find_values(owner, variables, loops)
        case ast.Subscript(value=owner, slice=key):
            found = _find_values(owner, variables, loops)
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                dicts = [each for each in found if is_exactly(each, dict)]
                return [each[key.value] for each in dicts if key.value in each]
            return [*islice((item for each in found for item in _list_items(each)), MAX_ITEMS)]
    return []


def _list_items(value: Any) -> Iterator[Any]:
    """Yield a dict's keys and values, a collection's members, or a string itself."""
    if is_exactly(value, dict):
        yield from value
        yield from value.values()
    elif is_exactly(value, list, tuple, set, frozenset, deque):
        yield from value
    elif type(value) is str:
        yield value


def _list_made_containers(tree: ast.AST) -> Iterator[str]:
    """Yield the names that code visibly binds to objects other than strings."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                if isinstance(value, ast.Dict | ast.List | ast.Set | ast.Tuple | ast.Call | ast.ListComp | ast.SetComp | ast.DictComp):  # fmt: skip
                    is_text = isinstance(value, ast.Call) and _is_text(value)
                    yield from () if is_text else (name,)


def _list_searches(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield each constant string that code searches for, with the expression that it searches."""
    lists = {
        node.targets[0].id: list(_list_texts(node.value))
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    lists |= {loop.target.id: list(_list_texts(loop.iter, lists)) for loop in _list_loops(tree)}
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[where]):
                if _is_text(where):
                    for text in _list_texts(left, lists):
                        yield text, where
            case ast.Call(func=ast.Attribute(value=owner, attr=method), args=args) if (
                method in _SEARCHING
            ):
                is_pattern = isinstance(owner, ast.Name) and owner.id == "re"
                where = args[1] if is_pattern and len(args) > 1 else owner
                for argument in args[:1] if _is_text(where) else ():
                    for text in _list_texts(argument, lists):
                        many = is_pattern and _WORDS_ONLY.fullmatch(text)
                        for word in re.findall(r"(?<!\\)[^\W\d_]{2,}", text) if many else (text,):
                            yield word, where


_WORDS_ONLY = re.compile(r"(?:\\b|\(\?:|[^\W\d_]{2,}|[|() ])+")
"""A regular expression that consists of words only, and can match nothing else."""


def _is_text(where: ast.expr) -> bool:
    """Return whether an expression may be a string of the program, unlike a list of names such as `dir(x)`."""
    match where:
        case (
            ast.Call(func=ast.Attribute(value=owner, attr="lower" | "casefold" | "upper" | "strip"))
            | ast.Call(func=ast.Attribute(value=owner, attr="split"), args=[])
        ):
            return _is_text(owner)
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name() | ast.Attribute()]):
            return True
        case ast.Subscript(value=owner):
            return _is_text(owner)
    return isinstance(where, ast.Name | ast.Attribute)


def _list_texts(value: ast.expr, lists: Mapping[str, list[str]] | None = None) -> Iterator[str]:
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name):
            yield from (lists or {}).get(name, ())
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            for element in elements:
                yield from _list_texts(element)


def changes_objects(tree: ast.AST) -> bool:
    """Return whether code assigns to a part of one of the program's objects, or calls a method that changes one."""
    made = {*_list_made_containers(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            is_copy = isinstance(node.value.slice, ast.Slice)
            made |= {each.id for each in node.targets if isinstance(each, ast.Name) and is_copy}
    for node in ast.walk(tree):
        match node:
            case ast.AugAssign(target=target, value=ast.List() | ast.Dict() | ast.Set()):
                changed = find_root(target)
            case _:
                changed = find_root(find_changed(node))
        if changed is not None and not (isinstance(changed, ast.Name) and changed.id in made):
            return True
    return False


def calls_only_known_functions(tree: ast.AST) -> bool:
    """Return whether code calls only builtins that compute, and methods that change at most their own object."""
    others = (ast.Call, ast.With, ast.AsyncWith, ast.Await, ast.Import, ast.ImportFrom)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in _COMPUTING:
                continue
            case ast.Call(func=ast.Attribute(attr=method)) if method in _CHANGING:
                continue
            case _ if isinstance(node, others):
                return False
    return True


def find_warnings(
    instruction: str,
    codes: Sequence[str],
    failed: Sequence[str],
    scope: Scope,
    before: State | None,
    given: Mapping[str, object],
) -> Iterator[str]:
    """Yield the warnings for a finished block; `before` is the state of the objects that it could change.

    `failed` code may have had effects before its exception. `given` has the outputs' values from before the block.
    """
    with_texts = [code for code in codes if '"' in code or "'" in code]
    variables = scope.list_variables() if with_texts else {}
    for code in with_texts:
        found = find_word_tests(_parse(code), instruction, variables)
        for word, where in dict.fromkeys(found):
            yield f"the code looks for {word!r}, a word of the prompt, in `{where}`"
    results = scope.list_variables(scope.outputs)
    texts = {
        name: value.split()
        for name, value in results.items()
        if type(value) is str and len(value) >= MIN_REPEATED
    }
    if texts and not _REPEATING.search(instruction):
        inputs = {k: v for k, v in scope.list_variables().items() if k not in scope.outputs}
        for name, value in {**inputs, **given}.items():
            words = value.split() if type(value) is str else None
            repeated = f"`{name}`" if name in inputs else "its value from before"
            yield from (f"`{out}` only repeats {repeated}" for out in texts if texts[out] == words)
    if before is not None and not _CONDITION.search(instruction):
        trees = [_parse(code) for code in codes]
        called = [*trees, *(_parse(code) for code in failed)]
        is_known = all(calls_only_known_functions(tree) for tree in called)
        is_done = any(changes_objects(tree) for tree in trees)  # even if nothing has changed
        after = read_state(scope.list_variables().values())  # includes objects that the code named
        if is_known and not is_done and after is not None and {*before} <= {*after}:
            yield "the block has changed nothing"


@lru_cache(maxsize=16)
def _parse(code: str) -> ast.Module:
    """Parse code that has run; code that ran only after normalization becomes one unknown call."""
    try:
        return parse_snippet(code)
    except (SyntaxError, ValueError):
        return ast.Module([ast.Expr(ast.Call(ast.Name("unknown", ast.Load()), [], []))], [])


State = list[tuple[Any, ...]]
"""The contents of objects, as identities."""


def read_state(values: Iterable[Any]) -> State | None:
    """Return the contents of all objects reachable from some values, as identities; None if there are too many."""
    state: State = []
    seen: set[int] = set()
    waiting = deque(values)
    while waiting:
        value = waiting.popleft()
        if id(value) in seen or callable(value):
            continue
        seen.add(id(value))
        held = list(islice(_list_held(value), MAX_ITEMS + 1))
        if len(seen) > MAX_OBJECTS or len(held) > MAX_ITEMS:
            return None
        if not is_exactly(value, *_PLAIN):  # even an empty one: it may be filled
            state.append((id(value), *map(_identify, held)))
            waiting += held
    return state


_PLAIN = (str, int, float, bool, bytes, type(None))


def _identify(value: Any) -> Any:
    return (type(value), value) if is_exactly(value, *_PLAIN) else id(value)


def _list_held(value: Any) -> Iterator[Any]:
    """Yield the contents of an object, without running the program's code."""
    kind = type(value)
    if is_exactly(value, *_PLAIN):
        return
    if issubclass(kind, dict):
        yield from dict.keys(value)
        yield from dict.values(value)
    for base in (list, tuple, set, frozenset, deque, bytearray):
        if issubclass(kind, base):
            yield from base.__iter__(value)
    if slots := list_slots(kind):
        for _, held in read_slots(slots, value):
            yield held
    namespace = make_namespace_reader(kind, None)(value)
    if namespace is not None:
        yield from namespace.values()
