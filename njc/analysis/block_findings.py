"""Findings about a block's authority: it can do nothing, or less than its text asks for.

Summarize <text>.                                       NJ211  the block can do nothing
Summarize <text>.                                       NJ213  the same, if the type of `text` is unknown
Skip <mail> if it is spam, or note its <:topic: str>.   NJ303  `skip` may mean a jump that the text does not name
Increase <count>, and put a text into <:note: str>.     NJ305  the text asks to increase `count`, which is only read
The service continues. Put <x> into <:y: str>.          NJ306  `continues` offers a jump that may not be meant
Read <:n: int> from <text>. If <:n: str> is a word, ... NJ215  an output of two types
Put 1 into <:point.x>.                                  NJ216  an attribute that cannot be set
Put the sum of <rows> into <:total: float>.             NJ304  the block has code: it may change `rows: list[int]`
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Set

from njc.analysis.authority import ANSWER_REMEDY, Authority, find_fixed_changes, find_read_type
from njc.analysis.check import suggest_name
from njc.analysis.class_members import ENUM_BASES
from njc.analysis.control_words import find_doubtful_names, find_implied_jumps, list_named_jumps
from njc.analysis.inference import TypeReader
from njc.analysis.json_compatibility import list_members
from njc.analysis.judgements import only_judges
from njc.analysis.types import SCALARS, Typed
from njc.analysis.unclear_requests import find_unclear_requests
from njc.analysis.words import compile_words
from njc.frontend.blocks import NaturalBlock
from njc.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.frontend.name_resolution import FunctionDefinition, NameScope, is_defined
from njc.frontend.prompt_references import Reference, list_variables, parse_type
from njc.frontend.source import SourceFile
from njrt.execution.contained.platforms import MADE_BY_CODE
from njrt.options import Options, merge_option_layers

_RAISE_WORDS = compile_words(
    r"\b(?:re-?)?(?:rais|throw|fail|refus|reject|complain|assert|abort|error|exception|fehler|ausnahme|wirf|werfe?n?\b"
    r"|erreur|lever?\b|lève|lanc[ae]|lanza|errore|solleva|erro\b|ошибк|исключени|fout|błąd|wyjąt)|\b\w+(?:Error|Exception)\b"
    r"|错误|错誤|异常|抛出|例外|エラー|예외"
)
"""Words that ask for an exception."""
_ACTS = compile_words(
    r"\b(?:print|log|warn|show|display|output|notif[iy]|alert|echo|beep|ring|play|sleep|wait|send|mail|e-?mail|publish"
    r"|upload|download|flush|dump|import|call|run|execute|invoke|start|announce|shout|whisper|read\s+out|report\s+to)(?:s|es"
    r"|n|ed|ing|ged|ging|ted|ting)?\b|\b(?:stdout|stderr|console|screen|terminal|(?!\A)files?|disk)\b"
    r"|\b(?:tell|inform) (?:the|my|our|your|all|every\w+|him|her|them|\s) ?|\b(?:druck|ausgeb|zeig|imprim|affich|muestr|stamp[ai])|\bgib\b.*\baus\b|вывед|печат|打印|输出|显示|表示|出力|출력"
)
"""Words that may ask for something outside the program, such as printing."""
_SAYS = compile_words(
    r"\bsay\s+(?!how|wh\w+|if|that)(?:[\"'`]|(?:hello|hi|goodbye|thanks|sorry)\b|[^.;!?]*\b(?:loud(?:ly)?|aloud|to\s+(?:\s"
    r"|the|my|our|your|all|every\w+|him|her|them)))"
)
"""Words that ask to speak to a person, not for a result."""


_COMPUTES = compile_words(
    r"(?:\A\s*|[.;:!?]\s+|\b(?:and|then|please)\s+)(?:summari[sz]e|translate|classify|categori[sz]e|extract|describe|explain"
    r"|count|compute|calculate|find|list|determine|decide|analy[sz]e|rate|score|compare|read|look|check|identify|detect"
    r"|estimate|evaluate"
    r"|paraphrase|answer|guess|rank|name|suggest|review|judge|transcribe|say|tell|think|consider)s?\b"
)
"""Verbs that ask for a result at the start of a clause."""
_CHANGES = compile_words(
    r"\b(?:add|append|push|insert|prepend|attach|put|place|save|store|record|write|enter|register|move|copy|increase"
    r"|increment|decrease|decrement|reset|update|modify|mutate|overwrite|mark|flag|tick|clear|empty|shuffle|truncate|toggle"
    r"|rename|edit"
    r"|change|set|sort|reverse|remove|delete|drop|discard|pop|extend|fill|replace|swap|assign|give|make|turn|convert|fix"
    r"|correct|clean|keep|note|merge|split|sen[dt]|print|log|display|show|call|run|execute|invoke|use|appl(?:y|ies)|open"
    r"|close|create"
    r"|notify|publish|upload|download|schedule|cancel|start|stop|wait|ask|tag|label|annotate|take|grow|shrink|happen|perform|do)(?:s|es|d|ed|ing)?\b"
)
"""Verbs that may ask for a change, or for something that only code can do."""


def find_block_findings(
    source: SourceFile,
    block: NaturalBlock,
    authority: Authority,
    types: TypeReader,
    project: Options,
) -> Iterator[Diagnostic]:
    """Report requests that a block cannot fulfil, and jumps that a doubtful word offers."""
    if (named := block.interface) is not None:
        kind = types.find_definition(named.root, block.scope)
        if named.path == named.root and kind in ("function", "class"):
            message = f"`{named.path}` is a {kind}, and no njrt.Interface"
            yield make_diagnostic(source, "NJ104", named.start, named.end, message)
        return
    start = block.end - 3 - len(block.prompt)
    offered = frozenset(label.removeprefix("bare_") for label in authority.labels)
    is_idle = _is_idle(authority)
    may_act = is_idle and _may_act(block)
    if is_idle and not may_act:
        message = (
            "the block can do nothing: it has no output, no jump, and nothing that it could change"
        )
        hint = "name an output, such as `<:result: str>`, a variable to change, or a jump; to show text, write `print`"
        yield make_diagnostic(source, "NJ211", *block.head, message, hint)
    elif not (block.writes or list_named_jumps(block) or block.is_fstring):
        yield from _check_missing_output(source, authority, types)
    for implied, names in find_implied_jumps(block, offered):
        at = (start + implied.start, start + implied.stop)
        choice = " or ".join(f"`{name}`" for name in names)
        message = f"`{block.words_without_references[implied]}` may mean a jump that the text does not name"
        yield make_diagnostic(source, "NJ303", *at, message, f"write {choice} if it does")
    changes = list(find_fixed_changes(block, authority.asked, types))
    for change in changes:
        asked = change.asked
        message = f"the text asks to {asked.verb} `{asked.reference.path}: {change.typed}`, which it only reads"
        hint = (
            f"to bind it, write `<:{asked.reference.path}>`; for a new value, name an output"
            if change.is_scalar or "." in asked.reference.path
            else f"to set an attribute, write `<:{asked.reference.path}.NAME>`"
            if types.find_definition(asked.reference.path, block.scope) == "class"
            else f"annotate `{asked.reference.path}` with a type that can be changed, or name an output"
        )
        yield make_diagnostic(source, "NJ305", asked.start, asked.end, message, hint)
    if (authority.effects == "answer" or may_act) and block.options.effects is None:
        known = {change.asked.reference for change in changes}
        yield from _check_unclear_requests(source, block, known, types)
    yield from _check_fixed_outputs(source, block, types)
    yield from _check_undefined_types(source, block, authority.labels, types)
    yield from _check_two_types(source, block, types)
    options = merge_option_layers(block.options, project)
    problem = find_containment_problem(block, options) if options.policy == "contained" else None
    if problem is not None:
        yield make_diagnostic(source, "NJ214", *block.head, *problem)
    if options.jumps == "all":
        return
    legal = frozenset(block.labels) - frozenset(block.labels_exiting_finally)
    for name, is_offered in find_doubtful_names(block, legal):
        at = (start + name.start(), start + name.end())
        if is_offered:
            message = f"`{name[0]}` offers the block a jump, which it may not mean"
            hint = "use another word if no jump is meant; if it is, start a sentence with it"
        else:
            message = f"`{name[0]}` is negated, so the block is not offered the jump"
            hint = 'state when to jump, or write `jumps="all"` on the block'
        yield make_diagnostic(source, "NJ306", *at, message, hint)


_NUMBERS = ("int", "float", "bool", "complex", "decimal.Decimal", "fractions.Fraction")


def _check_unclear_requests(
    source: SourceFile, block: NaturalBlock, known: Set[Reference], types: TypeReader
) -> Iterator[Diagnostic]:
    """Report sentences that may ask to change a collection, or a number in an attribute, that is not in `known`."""
    reported, is_answer = -1, block.writes or list_named_jumps(block)
    for asked in find_unclear_requests(block):
        path = asked.reference.path
        typed = find_read_type(path, block, types)[0] if asked.start != reported else None
        is_act = _RAISE_WORDS.match(asked.verb) or _ACTS.match(asked.verb)
        if typed is None or asked.reference in known or (is_act and not is_answer):
            continue
        names = {types.name_of(part) for part in types.union_parts(types.expand(typed))} - {"None"}
        if names <= {*_NUMBERS} if "." in path else not names & {*SCALARS, "typing.Literal"}:
            reported = asked.start
            message = f"to {asked.verb} `{path}: {typed}` may be a change, but it is only read"
            other = ANSWER_REMEDY if is_answer else "name an output"
            way = f"annotate `{path}` with a type that can be changed"
            hint = f"{f'write `<:{path}>`' if '.' in path else way} if it is; if not, {other}"
            yield make_diagnostic(source, "NJ305", asked.start, asked.end, message, hint)


def _is_idle(authority: Authority) -> bool:
    """Return whether a block certainly has no effect, apart from what its text may ask for."""
    if authority.block.writes or authority.labels or authority.block.is_fstring:
        return False
    return all(obstacle.is_missing for obstacle in authority.obstacles)


def _may_act(block: NaturalBlock) -> bool:
    """Return whether a text may ask for an exception, or for something outside the program."""
    words = block.words_without_references
    acts = _ACTS.search(words) or _SAYS.search(words)
    return bool(acts or _RAISE_WORDS.search(block.words))


def _check_missing_output(
    source: SourceFile, authority: Authority, types: TypeReader
) -> Iterator[Diagnostic]:
    """Report a block without outputs or jumps if its result is read below, or its text only computes."""
    block = authority.block
    missing = _find_missing_name(block, types)
    if missing is None:
        obstacles = [each for each in authority.obstacles if not each.is_missing]
        are_unknown = obstacles and not authority.labels and all(it.is_unknown for it in obstacles)
        is_harmless = _COMPUTES.search(block.words) and not _CHANGES.search(block.words)
        if not (are_unknown and is_harmless) or _RAISE_WORDS.search(block.words):
            return
    message = (
        f"the block has no output, and nothing binds `{missing}`, which the code below reads"
        if missing
        else "the block seems to do nothing: it has no output, no jump, and its text asks for no change"
    )
    hint = f"write `<:{missing or 'result: str'}>` for its output, or name the object to change"
    yield make_diagnostic(source, "NJ213", *block.head, message, hint)


def _find_missing_name(block: NaturalBlock, types: TypeReader) -> str | None:
    """Return the first name that the code below reads, but nothing binds."""
    nodes = list(ast.walk(block.scope.node))
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    names = (
        node
        for node in nodes
        if isinstance(node, ast.Name)
        and node.lineno > block.end_line
        and node.id not in bound
        and not is_defined(node.id, block.scope, types.outputs)
    )
    found = min(names, key=lambda node: (node.lineno, node.col_offset), default=None)
    return found.id if found is not None else None


def _check_fixed_outputs(
    source: SourceFile, block: NaturalBlock, types: TypeReader
) -> Iterator[Diagnostic]:
    """Report outputs that Python cannot set, or that are `Final`."""
    for output in (each for each in block.references if each.writes):
        at = (output.start, output.end)
        owner, _, name = output.path.rpartition(".")
        if not owner:
            if _is_final(name, block, types):
                message = f"the block binds `{name}`, which is `Final` and has a value"
                hint = "bind another variable, or remove `Final`"
                yield make_diagnostic(source, "NJ305", *at, message, hint)
            continue
        typed = find_read_type(output.path, block, types)[1]
        reason = types.find_fixed_attribute(typed, name) if typed is not None else None
        enum = types.class_of_type(Typed(ast.Name(owner, ast.Load()), block.scope))
        if enum and ENUM_BASES & {*types.list_base_names(enum)} and name in list_members(enum[0]):
            reason = f"it is a member of the enum `{owner}`"
        if reason is not None:
            message = f"Python refuses to set `{output.path}`: {reason}"
            hint = f"name an output for it, such as `<:{name}>`"
            if types.find_annotation(owner, block.scope) is not None:
                hint += f", or bind a new object: `<:{owner}>`"
            yield make_diagnostic(source, "NJ216", *at, message, hint)


def _is_final(name: str, block: NaturalBlock, types: TypeReader) -> bool:
    """Return whether a statement declares a variable as `Final` and gives it a value."""
    found, home = types.find_annotation(name, block.scope), types.find_home(name, block.scope)
    if found is None or home is None or types.name_of(found) != "typing.Final":
        return False
    statements = types.find_statements_binding(name, home)
    return any(getattr(statement, "value", None) is not None for statement in statements)


def _check_undefined_types(
    source: SourceFile, block: NaturalBlock, labels: Iterable[str], types: TypeReader
) -> Iterator[Diagnostic]:
    """Report unbound names in quoted types and in annotations: such a type checks no value."""
    found: list[tuple[str, Typed, tuple[int, int]]] = []
    in_prompt = set[str]()
    for output in (each for each in block.references if each.writes):
        if typed := _get_written_type(output, block):
            in_prompt.add(output.path)
            found.append((output.path, typed, (output.start, output.end)))
        elif typed := types.find_annotation(output.path, block.scope):
            found.append((output.path, typed, source.get_span(typed.annotation)))
    returns = getattr(block.scope.node, "returns", None)
    is_generator = block.scope.kind.endswith("generator")  # the annotation is not the value's type
    if "return" in labels and returns is not None and not is_generator:
        typed = Typed(returns, block.scope.signature_scope)
        found.append(("return", typed, source.get_span(returns)))
    for path, typed, at in found:
        names = list_variables(types.unquote_inside(typed))
        is_bound_before = block.scope.is_function or block.frame.in_loop
        if path in names and is_bound_before:
            when = "in the function" if block.scope.is_function else "after the first round"
            message = f"`{path}` is the output and its type: {when}, the type is hidden"
            other = f"give the output another name, such as `<:new_{path}: {typed}>`"
            yield make_diagnostic(source, "NJ215", *at, message, other)
        elif hidden := types.find_hidden_names(typed, block.scope):
            message = f"`{hidden[0]}`, in the type of `{path}`, is another variable in the function: the type is not used"
            other = f"give the variable `{hidden[0]}` another name"
            yield make_diagnostic(source, "NJ215", *at, message, other)
        for name in names:
            if not is_defined(name, typed.scope, types.outputs):
                message = f"`{name}`, in the type of `{path}`, is not defined here"
                hint = suggest_name(name, block, types.outputs)
                yield make_diagnostic(source, "NJ201", *at, message, hint)
        for name in _list_parts(types.unquote_inside(typed)):
            if _is_function(name, typed.scope, types):
                message = f"`{name}`, in the type of `{path}`, is a function, and no type"
                # Python runs a program with such an annotation.
                code = "NJ201" if path in in_prompt else "NJ215"
                yield make_diagnostic(source, code, *at, message, _TYPES_FOR_FUNCTIONS.get(name))


_TYPES_FOR_FUNCTIONS = {
    "any": "write `object`, or `typing.Any`",
    "callable": "write `collections.abc.Callable`",
}


def _list_parts(annotation: ast.expr) -> Iterator[str]:
    """Yield the names that are the type itself, a part of a union, or the items of a builtin container."""
    match annotation:
        case ast.Name(id=name):
            yield name
        case ast.BinOp(left=left, right=right):
            yield from (*_list_parts(left), *_list_parts(right))
        case ast.Subscript(value=ast.Name("list" | "dict" | "set" | "tuple"), slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            yield from (name for part in parts for name in _list_parts(part))


def _is_function(name: str, scope: NameScope, types: TypeReader) -> bool:
    """Return whether a name means only a function of the file or of Python, not a class."""
    if types.is_builtin(name, scope):
        return callable(found := getattr(builtins, name, None)) and not isinstance(found, type)
    home = types.find_home(name, scope)
    statements = types.find_statements_binding(name, home) if home is not None else []
    return bool(statements) and all(isinstance(it, FunctionDefinition) for it in statements)


def _check_two_types(
    source: SourceFile, block: NaturalBlock, types: TypeReader
) -> Iterator[Diagnostic]:
    """Report an output that has two types in the block, or a type that is incompatible with its types elsewhere."""
    first: dict[str, Typed] = {}
    for output in block.references:
        typed = _get_written_type(output, block)
        if not output.writes or typed is None:
            continue
        other = first.setdefault(output.path, typed)
        message = f"`{output.path}` is `{other}` above in the block, and that type counts"
        if _identify(typed, types) == _identify(other, types):
            annotated = types.find_annotation(output.path, block.scope)
            elsewhere = filter(None, (annotated, types.output_type(output.path, block.scope)))
            others = [each for each in elsewhere if _exclude_each_other(typed, each, types)]
            if not others or output.is_dotted:
                continue
            message = f"`{output.path}` is `{others[0]}` elsewhere, which no `{typed}` is"
        hint = "write one type, or use a second name"
        yield make_diagnostic(source, "NJ215", output.start, output.end, message, hint)


def _get_written_type(output: Reference, block: NaturalBlock) -> Typed | None:
    parsed = parse_type(output.type) if output.type else None
    return Typed(parsed, block.scope) if parsed is not None else None


def _identify(typed: Typed, types: TypeReader) -> frozenset[object]:
    """Return a key that is equal for equal types, whatever the order of a union."""
    whole = types.expand(typed.inside(types.unquote_inside(typed)))
    return frozenset(types.identify(part) for part in types.union_parts(whole))


def _exclude_each_other(one: Typed, other: Typed, types: TypeReader) -> bool:
    """Return whether two types certainly have no value in common, except None."""
    kinds, others = _list_kinds(one, types), _list_kinds(other, types)
    return bool(kinds and others) and kinds.isdisjoint(others)


def _list_kinds(typed: Typed, types: TypeReader) -> frozenset[str]:
    """Return the builtin types of a type's values, with numbers as one type; empty if others are possible."""
    kinds: set[str] = set()
    for part in types.union_parts(types.expand(typed)):
        match types.name_of(part), part.annotation:
            case "typing.Literal", ast.Subscript(slice=values):
                nodes = values.elts if isinstance(values, ast.Tuple) else [values]
                found = {
                    type(node.value).__name__ if isinstance(node, ast.Constant) else ""
                    for node in nodes
                }
            case name, _:
                found = {name}
        kinds |= {"number" if name in ("bool", "int", "float") else name for name in found}
    kinds -= {"None", "NoneType"}
    return frozenset(kinds) if kinds <= _KINDS else frozenset()


_KINDS = frozenset({"number", "str", "bytes", "list", "dict", "set", "frozenset", "tuple"})


def find_code_hint(
    source: SourceFile, block: NaturalBlock, authority: Authority
) -> Iterator[Diagnostic]:
    """Report how a block could do without code; an option is the correction if the text only judges."""
    marker = _MARKER.match(block.literal) if authority.can_answer else None
    ways = [authority.remedy]
    if marker is not None and ANSWER_REMEDY not in authority.remedy:
        ways.append(ANSWER_REMEDY)
    if hint := "; or ".join(filter(None, ways)):
        end = block.start + (marker.end() if marker is not None else 10)
        is_safe = marker is not None and only_judges(block)
        written = f'{marker[0]}(effects="answer")' if marker is not None and is_safe else None
        message = f"the block has code: {authority.reason}"
        yield make_diagnostic(source, "NJ304", block.start, end, message, hint, written)


_MARKER = re.compile(r"\w*(?:\"{3}|'{3})(?:natural|prompt)(?=[ \t]*[\r\n])")


# ── which blocks cannot run their code in a separate process ───────────────────────────────────────


_MADE_BY_CODE = frozenset(["Type", *(kind.__name__ for kind in MADE_BY_CODE)])
"""The names of types of objects that live in the process of their code."""


def find_containment_problem(block: NaturalBlock, options: Options) -> tuple[str, str] | None:
    """Return why a block's code cannot be contained, and a way out; None if it can be."""
    if block.scope.kind == "class":
        return "code in the body of a class cannot be contained", "move the block into a function"
    for reference in block.references:
        kind = re.match(r"(?:\w+\.)*(\w+)", reference.type or "")
        if kind is not None and kind[1] in _MADE_BY_CODE:
            return (
                f"`{reference.path}` is a function, a class or an iterator, which ends with contained code",
                'let the block bind data, or write `policy="guarded"`',
            )
        if reference.writes and "._" in reference.path:
            return (
                f"contained code cannot set `{reference.path}`, which has an underscore before the name",
                'name another attribute or a variable, or write `policy="guarded"`',
            )
    return None
