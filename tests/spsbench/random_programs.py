"""Random programs, and their states computed without tracing.

    source = write_program(Random(7))          functions, generators, loops, exceptions, context managers; `f(3)` is the call
    report_states(source)                      the states of `f(3)`: the program is rewritten to report them, and run

    total += n           ->      _s.line(4)
                                 try:
                                     total += n
                                 except BaseException:
                                     _s.fail(4)
                                     raise

Not generated: several statements on one line, a jump out of a `with`, of a `try ... finally`, or of a loop over a
generator, conditions that raise, threads, coroutines.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from types import FrameType
from typing import Any

from spsbench.states.recording import MAX_VALUE_CHARS
from spsbench.states.trace import ProgramState

CALL = "f(3)"
ERRORS = ("ValueError", "KeyError", "ZeroDivisionError", "NameError")
EXPECTED_ERRORS = (
    ArithmeticError,
    LookupError,
    NameError,
    RuntimeError,
    StopIteration,
    TypeError,
    ValueError,
)
HEAD = """\
class Guard:
    def __init__(self, kind):
        self.kind = kind
        return None
    def __enter__(self):
        return 7
    def __exit__(self, kind, error, place):
        return kind is self.kind
"""


def write_program(random: Random) -> str:
    """Return a program; its functions call those above them, and themselves with a smaller number."""
    writer = ProgramWriter(random)
    for name, is_generator in (("count", True), ("g", False), ("more", True), ("f", False)):
        writer.write_function(name, is_generator)
    return HEAD + "\n".join(writer.lines) + "\n"


class ProgramWriter:
    """Writes functions (state: the lines so far, the functions and generators that may be called)."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.functions: list[str] = []
        self.generators: list[str] = []
        self.is_generator = False

    def write_function(self, name: str, is_generator: bool) -> None:
        self.is_generator = is_generator
        self.lines.append(f"def {name}(n):")
        self.add(1, "a, b, xs = n, 2, [n]")
        self.write_block(1, loops=0, may_return=True)
        if is_generator:
            self.add(1, f"a = yield {self.choose('a', 'b', 'n', 'len(xs)')}")
        self.add(1, f"return {self.make_value()}")
        (self.generators if is_generator else self.functions).append(name)

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def choose(self, *texts: str) -> str:
        return self.random.choice(texts)

    def make_name(self) -> str:
        return self.choose("a", "b", "c")

    def make_value(self) -> str:
        return self.choose("a", "b", "n", "xs[:2]", "(n, b)", "{'k': b}", "'x' * n", "None", "-n")

    def make_condition(self) -> str:
        return self.choose("n % 2", "n > 1", "not n", "len(xs) > 2", "n in xs")

    def write_block(self, depth: int, loops: int, may_return: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.write_statement(depth, loops, may_return)

    def write_statement(self, depth: int, loops: int, may_return: bool) -> None:
        kinds = ["simple"] * 6 + ["call", "iterate"] * 2
        if depth < 4:
            kinds += ["if", "for", "while", "try", "finally", "with", "def"]
        if loops:
            kinds += ["jump"]
        if may_return:
            kinds += ["return"]
        match self.random.choice(kinds):
            case "simple":
                self.add(depth, self.make_simple())
            case "call":
                self.write_call(depth)
            case "iterate":
                self.write_iteration(depth)
            case "jump":
                self.add(depth, f"if {self.make_condition()}:")
                self.add(depth + 1, self.choose("break", "continue"))
            case "return":
                self.add(depth, f"if {self.make_condition()}:")
                self.add(depth + 1, f"return {self.make_value()}")
            case "if":
                self.add(depth, f"if {self.make_condition()}:")
                self.write_block(depth + 1, loops, may_return)
                if self.random.random() < 0.5:
                    self.add(depth, "else:")
                    self.write_block(depth + 1, loops, may_return)
            case "for":
                items = self.choose("range(2)", "xs[:2]", "'ab'", "()", "enumerate(xs[:2])")
                self.add(depth, f"for {self.make_name()} in {items}:")
                self.write_block(depth + 1, loops + 1, may_return)
            case "while":
                counter = f"w{depth}"
                self.add(depth, f"{counter} = 2")
                self.add(depth, f"while {counter}:")
                self.add(depth + 1, f"{counter} -= 1")
                self.write_block(depth + 1, loops + 1, may_return)
            case "try":
                self.add(depth, "try:")
                self.write_block(depth + 1, loops, may_return)
                for error in self.random.sample(ERRORS, self.random.randint(1, 2)):
                    self.add(depth, f"except {error} as e:")
                    self.write_block(depth + 1, loops, may_return)
            case "finally":
                self.add(depth, "try:")
                self.write_block(depth + 1, 0, False)
                self.add(depth, "finally:")
                self.add(depth + 1, f"{self.make_name()} = {self.choose('n', '7', 'xs[:1]')}")
                self.add(depth + 1, "xs.append(n)")
            case "with":
                self.add(depth, f"with Guard({self.choose(*ERRORS)}) as {self.make_name()}:")
                self.write_block(depth + 1, 0, False)
            case "def":
                name = self.make_name()
                self.add(depth, "def inner(m):")
                self.add(depth + 1, f"nonlocal {name}")
                self.add(depth + 1, f"{name} = m")
                self.add(depth + 1, "return m")
                self.add(depth, f"{name} = inner({self.make_value()})")

    def make_simple(self) -> str:
        name, value = self.make_name(), self.make_value()
        return self.choose(
            f"{name} = {value}",
            f"{name} = {value}",
            f"{name} += n",
            f"xs.append({value})",
            f"xs[0] = {value}",
            f"del {name}",
            "pass",
            f"{name} = [q for q in xs if q]",
            f"{name} = (lambda q: q)({value})",
            f"{name} = 1 // (n % 2)",
            f"raise {self.choose(*ERRORS)}({value})",
            *([f"{name} = yield {value}", f"yield {value}"] * 2 if self.is_generator else []),
        )

    def write_call(self, depth: int) -> None:
        name = self.make_name()
        if self.functions:
            self.add(depth, f"{name} = {self.random.choice(self.functions)}(n - 1)")
        else:
            self.add(depth, f"{name} = sorted([n, 1], key=lambda q: -q)")

    def write_iteration(self, depth: int) -> None:
        if not self.generators:
            self.add(depth, "xs.append(n)")
            return
        made = f"{self.random.choice(self.generators)}({self.choose('n', '1', '2')})"
        if self.random.random() < 0.4:
            self.add(depth, f"{self.make_name()} = list({made})")
        elif self.random.random() < 0.4:
            self.add(depth, f"for {self.make_name()} in {made}:")
            self.add(depth + 1, "xs.append(n)")
        else:
            self.add(depth, f"it = {made}")
            self.add(depth, f"{self.make_name()} = next(it)")
            use = self.choose("it.throw(KeyError(n))", "it.send(n)", "next(it, 0)")
            self.add(depth, f"{self.make_name()} = {use}")
            self.add(depth, f"{self.make_name()} = list(it)")


def report_states(source: str) -> tuple[ProgramState, ...]:
    """Return the states of the call."""
    tree = ReportingRewriter().visit(ast.parse(source))
    log = StateLog()
    namespace: dict[str, Any] = {"_s": log}
    exec(compile(ast.fix_missing_locations(tree), "<reporting>", "exec"), namespace)
    with suppress(*EXPECTED_ERRORS):
        eval(CALL, namespace)
    return tuple(log.states)


@dataclass
class Activation:
    """A function that runs (state: its variables as of the last state, its last line)."""

    shown: dict[str, str] = field(default_factory=dict)
    line: int = 0


class StateLog:
    """What a rewritten program calls (state: the states so far)."""

    def __init__(self) -> None:
        self.states: list[ProgramState] = []
        self.stack: list[Activation] = []
        self.suspended: set[int] = set()

    def enter(self, line: int) -> None:
        self._enter(line, sys._getframe(1))

    def line(self, line: int) -> None:
        self._add_variables("line", line, sys._getframe(1))

    def clause(self, line: int, kind: type) -> type:
        self._add_variables("line", line, sys._getframe(1))
        return kind

    def fail(self, line: int) -> None:
        """A line raised; a generator that waited there was entered again first."""
        self._go_on(line, sys._getframe(1))
        self._add("exception", line, describe(sys.exc_info()[1]))

    def leave(self, line: int, value: Any) -> Any:
        self._leave(line, describe(value), sys._getframe(1))
        return value

    def unwind(self) -> None:
        self._leave(self.stack[-1].line, None, sys._getframe(1))

    def out(self, line: int, value: Any) -> Any:
        self.suspended.add(id(sys._getframe(1)))
        self._leave(line, describe(value), sys._getframe(1))
        return value

    def back(self, line: int, value: Any) -> Any:
        self._go_on(line, sys._getframe(1))
        return value

    def items(self, line: int, items: Any) -> Iterator[Any]:
        """Yield the items of a `for`, whose line is run again before the next one is taken."""
        iterator, is_first = iter(items), True
        while True:
            if not is_first:
                self._add_variables("line", line, sys._getframe(1))
            is_first = False
            try:
                item = next(iterator)
            except StopIteration as end:
                if end.value is not None:  # a generator that returns a value raises it
                    self._add("exception", line, describe(end))
                return
            except BaseException as error:
                self._add("exception", line, describe(error))
                raise
            yield item

    def guard(self, line: int, manager: Any) -> ReportingGuard:
        return ReportingGuard(self, line, manager)

    def _enter(self, line: int, frame: FrameType) -> None:
        self.stack.append(Activation())
        self._add_variables("call", line, frame)

    def _leave(self, line: int, value: str | None, frame: FrameType) -> None:
        self._add_variables("return", line, frame, value)
        self.stack.pop()

    def _go_on(self, line: int, frame: FrameType) -> None:
        if id(frame) in self.suspended:
            self.suspended.discard(id(frame))
            self._enter(line, frame)

    def _add(self, event: Any, line: int, value: str | None) -> None:
        self.stack[-1].line = line
        self.states.append(ProgramState(event, line, len(self.stack) - 1, value=value))

    def _add_variables(
        self, event: Any, line: int, frame: FrameType, value: str | None = None
    ) -> None:
        running = self.stack[-1]
        now = {
            name: describe(value)
            for name, value in frame.f_locals.items()
            if not name.startswith("_")
        }
        before, running.shown, running.line = running.shown, now, line
        changed = {name: text for name, text in now.items() if before.get(name) != text}
        removed = tuple(sorted(before.keys() - now.keys()))
        self.states.append(ProgramState(event, line, len(self.stack) - 1, changed, removed, value))


@dataclass
class ReportingGuard:
    """A context manager: the line of the `with` is run again at its end."""

    log: StateLog
    line: int
    manager: Any

    def __enter__(self) -> Any:
        return self.manager.__enter__()

    def __exit__(self, kind: Any, error: Any, place: Any) -> Any:
        running = self.log.stack[-1]
        raised_in = running.line
        self.log._add_variables("line", self.line, sys._getframe(1))
        is_handled = self.manager.__exit__(kind, error, place)
        if kind is not None and not is_handled:
            running.line = raised_in  # the exception goes on from there
        return is_handled


def describe(value: Any) -> str:
    """Return the text of a value, cut as in states."""
    text = write(value)
    return text if len(text) <= MAX_VALUE_CHARS else text[:MAX_VALUE_CHARS] + "..."


def write(value: Any) -> str:
    """`repr`, but for objects whose `repr` has an address."""
    match type(value).__name__:
        case "function":
            return f"<function {value.__name__}>"
        case "type":
            return f"<class {value.__name__}>"
        case "generator":
            return f"<generator {value.__name__}>"
        case "traceback":
            return "<traceback>"
        case "Guard":
            return f"Guard(kind=<class {value.kind.__name__}>)" if vars(value) else "Guard()"
        case _:
            return repr(value) if not isinstance(value, list | tuple | dict) else write_items(value)


def write_items(value: Any) -> str:
    """Return a container, whose items may be such objects."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{write(k)}: {write(v)}" for k, v in value.items()) + "}"
    texts = ", ".join(map(write, value))
    return f"[{texts}]" if isinstance(value, list) else f"({texts}{',' * (len(value) == 1)})"


class ReportingRewriter(ast.NodeTransformer):
    """Puts calls of a `StateLog` between the statements of functions."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        body = self._visit_all(node.body)
        guarded = parse("try: pass\nexcept BaseException:\n    _s.unwind()\n    raise")
        guarded[0].body = body  # type: ignore[attr-defined]
        declarations = [part for part in body if isinstance(part, ast.Nonlocal)]
        guarded[0].body = [part for part in body if part not in declarations]  # type: ignore[attr-defined]
        node.body = [*declarations, *parse(f"_s.enter({node.lineno})"), *guarded]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        line = node.lineno
        made = ast.parse(
            f"(_s.enter({line}), _s.line({line}), _s.leave({line}, 0))[2]", mode="eval"
        )
        made.body.value.elts[2].args[1] = self.visit(node.body)  # type: ignore[attr-defined]
        node.body = made.body
        return node

    def visit_Return(self, node: ast.Return) -> Any:
        node.value = call("leave", node.lineno, node.value)
        return node

    def visit_Yield(self, node: ast.Yield) -> Any:
        node.value = call("out", node.lineno, node.value)
        return call("back", node.lineno, node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        node.type = call("clause", node.lineno, node.type)
        node.body = self._visit_all(node.body)
        return node

    def _visit_all(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [part for statement in body for part in self._rewrite(statement)]

    def _rewrite(self, node: ast.stmt) -> list[ast.stmt]:
        line = node.lineno
        before = parse(f"_s.line({line})")
        match node:
            case ast.Nonlocal():
                return [node]
            case ast.If():
                node.body, node.orelse = self._visit_all(node.body), self._visit_all(node.orelse)
            case ast.For():
                node.iter = call("items", line, self.visit(node.iter))
                node.body = self._visit_all(node.body)
            case ast.While():
                node.test = ast.BoolOp(ast.Or(), [call("line", line), node.test])
                node.body, before = self._visit_all(node.body), []
            case ast.With():
                node.items[0].context_expr = call("guard", line, node.items[0].context_expr)
                node.body = self._visit_all(node.body)
            case ast.Try():
                node.body, node.finalbody = (
                    self._visit_all(node.body),
                    self._visit_all(node.finalbody),
                )
                node.handlers = [self.visit(handler) for handler in node.handlers]
            case ast.FunctionDef():
                node = self.visit(node)
            case _:
                guarded = parse(f"try: pass\nexcept BaseException:\n    _s.fail({line})\n    raise")
                guarded[0].body = [self.visit(node)]  # type: ignore[attr-defined]
                return [*before, *guarded]
        return [*before, node]


def parse(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def call(name: str, line: int, *arguments: ast.expr | None) -> ast.expr:
    """`_s.name(line, ...)`."""
    given = [argument or ast.Constant(None) for argument in arguments]
    function = ast.Attribute(ast.Name("_s", ast.Load()), name, ast.Load())
    return ast.Call(function, [ast.Constant(line), *given], [])
