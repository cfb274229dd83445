"""How many blocks of published traces an `answer`, or one `run` of code, would have carried: an estimate.

    result = [word for word in words if word in known]; done()       outputs only: an answer carries it
    names.remove(x)        graph.nodes[3] = y        add(event)      changes or calls the program: needs code
    def visit(node): ...   return best, an object of the program     JSON does not carry it: needs code

    eval("str(words)"); exec("result = ..."); done()                 only reads inputs first: one `run` carries it
    eval("find(words)"); exec("result = ...")                        was told something new in between: two calls

An `answer` is JSON and is given the inputs as text. A `run` of the effect set `direct` is one piece of code, and is
given them too. Effects that failed are left out. The traces were recorded under other effects, so nothing here was
run. Counted although it may not be carried: what a model computed and could not have said without code, an input too
long to be shown, an element of an input in a new list, an object of a class that declares no fields. Counted as not
carried although it may be: a call of the program's code that changes nothing, a part of an input that is a string.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from njrt.agent.tools import OPERATIONS
from njrt.effects import WireValue
from spsbench.replay.traces import Trace, TracedBlock, TracedCall

Need = Literal["definition", "mutation", "call", "object", "unreadable"]
"""Why a block needs code: it defines something that JSON does not carry, changes or calls something of the program,
binds one of its objects, or its code cannot be parsed."""

EFFECT_NAMES = {operation.name for operations in OPERATIONS.values() for operation in operations}
OUTPUT_PATTERN = re.compile(r"<:([A-Za-z_]\w*)")
SHOWN_FUNCTIONS = frozenset(
    ["str", "repr", "list", "dict", "len", "dir", "vars", "type", "sorted", "print"]
)
SHOWN_METHODS = frozenset(["keys", "values", "items", "copy", "strip", "lower"])
READING_EFFECTS = frozenset({"eval", "lookup", "deref", "ref"})
PART_FUNCTIONS = frozenset({"next", "iter", "min", "max", "getattr"})
PART_METHODS = frozenset({"get", "values", "items"})
"""What returns a part of its argument, or of its object."""
COPYING_FUNCTIONS = frozenset({"list", "sorted", "tuple", "set", "enumerate", "reversed", "zip"})
ITERATOR_FUNCTIONS = frozenset({"iter", "map", "filter", "zip", "reversed"})
ACTING_FUNCTIONS = frozenset({"exec", "eval", "open", "input", "compile", "__import__"})
CHANGING_FUNCTIONS = frozenset({"setattr", "delattr"})
CHANGING_METHODS = frozenset(
    [
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "popitem",
        "clear",
        "sort",
        "reverse",
        "add",
        "discard",
        "update",
        "setdefault",
        "appendleft",
        "popleft",
    ]
)
DATA_METHODS = (
    PART_METHODS
    | {*(name for of in (str, dict, list, tuple, set, int, float) for name in dir(of))}
    - CHANGING_METHODS
)
NEW_EACH_TIME_MODULES = frozenset({"random", "secrets", "time", "uuid"})


@dataclass(frozen=True, slots=True)
class BlockEstimate:
    """What one block would have taken."""

    calls: int
    """Model calls, as recorded."""
    needed_calls: int
    """Model calls of `direct`: one, and one after each that told something new."""
    needs: frozenset[Need]
    """Why an answer would not have carried the block; empty if it would."""


def estimate_block(block: TracedBlock) -> BlockEstimate | None:
    """What a block would have taken; None if no effect of it was recorded."""
    calls = [traced for reply in block.replies for traced in reply.calls]
    if not any(traced.call.name in EFFECT_NAMES for traced in calls):
        return None
    reader = _NeedReader(frozenset(OUTPUT_PATTERN.findall(block.opening)))
    for traced in calls:
        if not traced.is_failed:
            reader.read_effect(traced)
    return BlockEstimate(len(block.replies), count_needed_calls(block), frozenset(reader.needs))


def count_needed_calls(block: TracedBlock) -> int:
    """One call, and one more after each reply that was told something that the inputs do not show."""
    news = [any(is_news(traced, block.names) for traced in reply.calls) for reply in block.replies]
    return 1 + sum(news[:-1])


def is_news(traced: TracedCall, shown: frozenset[str]) -> bool:
    """Whether the answer to an effect told the model what it could not know: an `exec` that succeeds tells nothing."""
    if traced.is_failed:
        return True
    if traced.call.name not in READING_EFFECTS:
        return False
    arguments = traced.call.arguments or {}
    code = arguments.get("expression") or arguments.get("expr") or arguments.get("var") or ""
    return not only_reads(str(code), shown)


def only_reads(expression: str, shown: frozenset[str]) -> bool:
    """Whether an expression only looks at variables that are shown."""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return False
    return bool(shown) and all(is_reading(node, shown) for node in ast.walk(tree.body))


def is_reading(node: ast.AST, shown: frozenset[str]) -> bool:
    """Whether a node of an expression shows no more than the variables do."""
    match node:
        case ast.Name(name):
            return name in shown or name in SHOWN_FUNCTIONS
        case ast.Call(ast.Name(name)):
            return name in SHOWN_FUNCTIONS
        case ast.Call(ast.Attribute(attr=name)):
            return name in SHOWN_METHODS
        case _:
            plain = ast.Attribute | ast.Subscript | ast.Constant | ast.Tuple | ast.expr_context
            return isinstance(node, plain)


class _NeedReader(ast.NodeVisitor):
    """Reads the effects of a block in order (state: what its names stand for, the needs so far)."""

    def __init__(self, outputs: frozenset[str]) -> None:
        self.outputs = outputs
        self.made: dict[str, bool] = {}
        """For each name that the block bound, whether it made the value; else it is a part of an input."""
        self.holding: set[str] = set()
        """Names of containers that the block made and filled with parts of inputs."""
        self.imported: set[str] = set()
        self.made_addresses: set[int] = set()
        self.needs: set[Need] = set()

    def read_effect(self, traced: TracedCall) -> None:
        """Add what one effect needs."""
        arguments = traced.call.arguments or {}
        match traced.call.name, arguments:
            case ("exec", {"code": str(code)}) | ("run", {"code": str(code)}):
                self.read_code(code)
            case "eval", {"expression": str(code)} | {"expr": str(code)}:
                self.read_code(code)
            case (("assign" | "goto"), {"val": value}):
                self.read_value(value)
            case "ref", {"val": value}:
                self.read_value(value)
                self.made_addresses.update(
                    address for answer in traced.answers for address in find_addresses(answer)
                )
            case "setref", {"ref": {"addr": int(address)}} if address not in self.made_addresses:
                self.needs.add("mutation")
            case (("return" | "raise"), {"variable": str(name)} | {"error": str(name)}):
                self.read_returned(name)

    def read_code(self, code: str) -> None:
        """Add what a piece of code needs."""
        try:
            self.visit(ast.parse(code.strip()))
        except (SyntaxError, ValueError, RecursionError):
            self.needs.add("unreadable")

    def read_returned(self, text: str) -> None:
        """Add what a returned or raised value needs: a variable, or an expression."""
        try:
            value = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            self.needs.add("unreadable")
        else:
            self.visit(value)
            if not self.is_made(value):
                self.needs.add("object")

    def read_value(self, value: WireValue) -> None:
        """Add what a value of the formal interface needs."""
        match value:
            case {"type": "Ref", "addr": address}:
                if address not in self.made_addresses:
                    self.needs.add("object")
            case {"type": "Class" | "Func"}:
                self.needs.add("definition")
            case dict():
                for inner in value.values():
                    self.read_value(inner)
            case list():
                for inner in value:
                    self.read_value(inner)

    def is_made(self, node: ast.expr) -> bool:
        """Whether the block made the value of an expression."""
        match node:
            case ast.Name(name):
                known = name in self.imported or hasattr(builtins, name) or name[:1].isupper()
                return self.made.get(name, known)
            case ast.Subscript(value, ast.Slice()) | ast.Await(value):
                return isinstance(node, ast.Subscript) or self.is_made(value)
            case ast.Attribute(value) | ast.Subscript(value) | ast.Starred(value):
                return self.is_made(value) and not self.holds_parts(value)
            case ast.IfExp(_, first, second):
                return self.is_made(first) and self.is_made(second)
            case ast.BoolOp(_, values):
                return all(map(self.is_made, values))
            case ast.NamedExpr(_, value):
                return self.is_made(value)
            case ast.Call(ast.Name(name), arguments) if name in PART_FUNCTIONS:
                return all(map(self.is_made, arguments))
            case ast.Call(ast.Attribute(value, name)) if name in PART_METHODS | CHANGING_METHODS:
                return self.is_made(value)
        return True

    def holds_parts(self, node: ast.expr) -> bool:
        """Whether a container that the block made has parts of inputs as its elements."""
        match node:
            case ast.Name(name):
                return name in self.holding
            case ast.ListComp(element) | ast.SetComp(element) | ast.DictComp(_, element):
                return not self.is_made(element)
            case ast.List(elements) | ast.Tuple(elements) | ast.Set(elements):
                return not all(map(self.is_made, elements))
            case ast.Call(ast.Name(name), arguments) if name in COPYING_FUNCTIONS:
                return any(
                    not self.is_made(given) or self.holds_parts(given) for given in arguments
                )
        return False

    def bind(self, target: ast.expr, made: bool) -> None:
        """Bind a target to a value that the block made, or to a part of an input."""
        match target:
            case ast.Name(name):
                self.made[name] = made
                if name in self.outputs and not made:
                    self.needs.add("object")
            case ast.Tuple(elements) | ast.List(elements):
                for element in elements:
                    self.bind(element, made)
            case ast.Starred(value):
                self.bind(value, True)
            case ast.Attribute(value) | ast.Subscript(value) if not self.is_made(value):
                self.needs.add("mutation")

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        self.read_definition(node.value)
        is_class = isinstance(node.value, ast.Name) and node.value.id[:1].isupper()
        for target in node.targets:
            self.bind(target, self.is_made(node.value) and not is_class)
            if isinstance(target, ast.Name):
                (self.holding.add if self.holds_parts(node.value) else self.holding.discard)(
                    target.id
                )

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit_Assign(ast.Assign([node.target], node.value))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit_Assign(ast.Assign([node.target], node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        is_extended = isinstance(node.value, ast.List | ast.ListComp)
        match node.target:
            case ast.Name(name) if self.is_made(node.target) or not is_extended:
                self.made[name] = True
            case ast.Name():
                self.needs.add("mutation")
            case target:
                self.bind(target, True)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.bind(node.target, self.is_made_iterable(node.iter))
        self.generic_visit(node)

    visit_AsyncFor = visit_For

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.bind(node.target, self.is_made_iterable(node.iter))
        self.generic_visit(node)

    def visit_ListComp(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        for generator in node.generators:
            self.visit(generator)
        self.generic_visit(node)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def is_made_iterable(self, node: ast.expr) -> bool:
        """Whether the block made the elements of an expression."""
        match node:
            case ast.Call(ast.Name("range")):
                return True
            case ast.Call(ast.Name(), arguments) if arguments:
                return all(self.is_made_iterable(given) for given in arguments)
        return self.is_made(node) and not self.holds_parts(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self.bind(target, True)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.imported |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        module = getattr(node, "module", None)
        if {module, *(alias.name for alias in node.names)} & NEW_EACH_TIME_MODULES:
            self.needs.add("call")

    visit_ImportFrom = visit_Import

    def visit_FunctionDef(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    ) -> None:
        self.needs.add("definition")
        self.made[node.name] = True

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """The parameters of a lambda are parts of what it is given to; as a key it changes nothing."""

    def read_definition(self, value: ast.expr) -> None:
        """Add what the value of an assignment needs: JSON carries neither functions nor iterators."""
        match value:
            case ast.Lambda() | ast.GeneratorExp():
                self.needs.add("definition")
            case ast.Call(ast.Name(name)) if name in ITERATOR_FUNCTIONS:
                self.needs.add("definition")

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        match node.func:
            case ast.Name(name):
                if name in CHANGING_FUNCTIONS and not all(map(self.is_made, node.args[:1])):
                    self.needs.add("mutation")
                elif name in ACTING_FUNCTIONS or not self.is_made(node.func):
                    self.needs.add("call")
            case ast.Attribute(value, name) if not self.is_made(value):
                if name in CHANGING_METHODS:
                    self.needs.add("mutation")
                elif name not in DATA_METHODS:
                    self.needs.add("call")
            case ast.Attribute():
                pass
            case _:
                self.needs.add("call")


def find_addresses(answer: WireValue) -> Iterator[int]:
    """The addresses of the references in an answer, also if it is JSON text."""
    text = answer if isinstance(answer, str) else str(answer)
    yield from map(int, re.findall(r"""["']addr["']: (\d+)""", text))


def format_estimate_table(traces: Sequence[Trace]) -> str:
    """The estimate, a row for each program and model and one for each model in all."""
    rows = [
        "an estimate from recorded effects; nothing was run under the effects that it names",
        f"{'program':27}{'model':26}{'blocks':>7}{'calls':>7}{'needed':>8}"
        f"{'answer':>8}{'one run':>9}{'either':>8}{'either %':>10}",
    ]
    models = dict.fromkeys(trace.model for trace in traces)
    groups = dict.fromkeys((trace.key[0], trace.model) for trace in traces)
    for program, model in sorted(groups):
        own = [trace for trace in traces if (trace.key[0], trace.model) == (program, model)]
        rows += format_estimate_row(program, model, own)
    for model in models:
        own = [trace for trace in traces if trace.model == model]
        rows += format_estimate_row("(all)", model, own)
    return "\n".join(rows)


def format_estimate_row(program: str, model: str, traces: Iterable[Trace]) -> Iterator[str]:
    """A row of the table: means of calls, counts of blocks; none where no block has effects."""
    every = [estimate_block(block) for trace in traces for block in trace.blocks]
    found = [estimate for estimate in every if estimate is not None]
    if not found:
        return
    answers = sum(not estimate.needs for estimate in found)
    runs = sum(estimate.needed_calls == 1 for estimate in found)
    either = sum(not estimate.needs or estimate.needed_calls == 1 for estimate in found)
    yield (
        f"{program:27}{model.rpartition('/')[2]:26}{len(found):7}"
        f"{fmean(estimate.calls for estimate in found):7.1f}"
        f"{fmean(estimate.needed_calls for estimate in found):8.1f}"
        f"{answers:8}{runs:9}{either:8}{either / len(found):10.0%}"
    )
