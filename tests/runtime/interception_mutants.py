"""The interception point bypassed at one caller after another, and the tests that must notice it.

    python tests/runtime/interception_mutants.py

    session/run.py:148  intercept(step, self.interceptors, self.record)    failed: sync answer 1
    ...

A mutant is the runtime with one expression replaced: a call of the point does nothing, a session has no interceptors.
The callers are found in the source. Each mutant is a copy of this process that imports the runtime anew. The first line
is that of the runtime as it is, in which nothing may fail.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest  # loaded once, and not by each copy

RUNTIME = Path(__file__).parents[2] / "runtime" / "njrt"
BYPASSES = {
    "intercept": "__bypass({0})",
    "list_interceptors": "()",
    "ask_interceptors": "__undecided({0})",
    "find_gate": "None",
}
"""The calls by which an effect comes to the interceptors, and what is put in their place; {0} is the first argument."""


@dataclass(frozen=True)
class Mutant:
    """The expression at a place of a file, and what replaces it."""

    file: Path
    line: int
    column: int
    text: str
    replacement: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(RUNTIME)}:{self.line}  {self.text}"


def find_mutants() -> Iterator[Mutant]:
    """Yield all callers, as they are in the source."""
    for file in sorted(RUNTIME.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_bytes())):
            replacement = find_replacement(node)
            is_handlers = file.parent.name != "session" and replacement == "self.handle"
            if replacement is not None and not is_handlers:
                assert isinstance(node, ast.expr)
                place = node.lineno, node.col_offset
                yield Mutant(file, *place, ast.unparse(node), replacement)


def find_replacement(node: ast.AST) -> str | None:
    """What bypasses an expression; None for one that has nothing to do with interceptors."""
    match node:
        case ast.Attribute(ast.Name("self"), "serve"):  # the point of a `Run`
            return "self.handle"
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name), args) if name in BYPASSES:
            return BYPASSES[name].format(ast.unparse(args[0]) if args else "")
        case ast.Attribute(ast.Name("session") | ast.Attribute(attr="session"), "interceptors"):
            return "()"
        case ast.Attribute(ast.Name("self"), "interceptors", ast.Load()):
            return "()"
    return None


class _Replace(ast.NodeTransformer):
    """Puts the replacement in its place."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def visit(self, node: ast.AST) -> ast.AST:
        place = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        is_here = place == (self.mutant.line, self.mutant.column)
        if is_here and find_replacement(node) == self.mutant.replacement:
            return ast.copy_location(ast.parse(self.mutant.replacement, mode="eval").body, node)
        return self.generic_visit(node)


class _MutantLoader(Loader, MetaPathFinder):
    """Imports the mutated file instead of the one of the runtime."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.origin is None or Path(spec.origin) != self.mutant.file:
            return None
        return ModuleSpec(name, self, origin=spec.origin)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        tree = _Replace(self.mutant).visit(ast.parse(self.mutant.file.read_bytes()))
        module.__dict__["__bypass"] = accept_unasked
        module.__dict__["__undecided"] = decide_nothing
        exec(compile(ast.fix_missing_locations(tree), str(self.mutant.file), "exec"), vars(module))


async def accept_unasked(pending: Any) -> Any:
    """What the interceptors decide, when they are not asked."""
    from njrt.decisions import Interception

    return Interception(pending.effect, ())


async def decide_nothing(pending: Any) -> Any:
    """What the interceptors decide about a call, when they are not asked."""
    return []


def list_checks() -> Iterator[tuple[str, Callable[[], object]]]:
    """Tests of `test_interception` that every effect is shown, with their arguments."""
    import test_interception as tests

    for number, (effects, script) in enumerate(tests.CASES, 1):
        sync = tests.test_sync_blocks_show_every_effect_once_before_it_acts
        later = tests.test_async_blocks_show_every_effect_once_before_it_acts
        yield f"sync {effects} {number}", partial(sync, effects, script)
        yield f"async {effects} {number}", partial(later, effects, script, True)
    yield "nested", partial(tests.test_effects_of_nested_blocks_are_shown, "answer")
    for number, ask in enumerate(tests.QUESTIONS, 1):
        yield f"question {number}", partial(tests.test_questions_from_code_are_shown, ask)
    yield (
        "code before a question",
        tests.test_asking_for_code_before_a_model_is_asked_is_shown_and_can_be_rejected,
    )
    yield "static code", tests.test_static_code_is_counted_and_reported_but_not_shown
    yield "attempt", tests.test_questions_of_static_code_and_the_block_behind_it_are_shown
    for name in ("sync", "async"):
        check = getattr(tests, f"test_questions_in_the_code_of_{name}_blocks_are_shown")
        yield f"ask in {name} code", check
    import test_gated as gated

    yield (
        "gated call",
        partial(gated.test_each_call_is_shown_with_the_programs_own_arguments, "guarded"),
    )
    yield "gated async call", partial(gated.test_async_functions, "guarded")
    if gated.CAN_CONTAIN:
        gated.PAID.clear()
        yield (
            "gated by rule",
            partial(gated.test_a_rule_holds_on_every_way, "results.append(charge(5))"),
        )


def find_failure(mutant: Mutant | None) -> str:
    """Return the name of the first check that fails on a mutant; empty if none does."""
    tests = Path(__file__).parent
    sys.path[:0] = [str(tests), str(tests.parent / "servers"), str(RUNTIME.parent)]
    if mutant is not None:
        sys.meta_path.insert(0, _MutantLoader(mutant))
    for name, check in list_checks():
        try:
            check()
        except Exception:
            return name
    return ""


def run_copy(mutant: Mutant | None) -> str:
    """What `find_failure` gives in a copy of this process."""
    reading, writing = os.pipe()
    if not os.fork():
        try:
            os.write(writing, find_failure(mutant).encode())
            os._exit(0)
        finally:
            os._exit(70)
    os.close(writing)
    with open(reading) as pipe:
        failure = pipe.read()
    _, status = os.wait()
    return failure if not status else f"the process ended with {os.waitstatus_to_exitcode(status)}"


def main() -> None:
    """Print a line for the runtime as it is, and for each mutant."""
    assert pytest
    assert "njrt" not in sys.modules
    for mutant in (None, *find_mutants()):
        failure = run_copy(mutant)
        verdict = f"failed: {failure}" if failure else "nothing failed"
        print(f"{mutant or 'as it is'}    {verdict}", flush=True)


if __name__ == "__main__":
    main()
