"""Model calls a block in published traces, and how many the `direct` effects would have taken.

    python bench/published_traces.py TRACES.jsonl ...

    traces                              model                        blocks   as published   endings carried   inputs shown   one call
    traces_interpreter_python_json      claude-sonnet-4-20250514        278          12.70              9.10           6.20        4 %

The files are those of https://github.com/psg-mit/nightjarpy, in benchmarks/results. A call was needed only where the
one before it had told the model something new:

- `endings carried`: an `exec` that succeeds tells nothing, so the calls that follow it could have come with it;
- `inputs shown`: nor does an `eval` that only reads the inputs, which `direct` shows in its opening.

`spsbench replay` executes the traces. Traces without tools, of manual programs, have no blocks to count.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

from njrt.agent.tools import OPERATIONS
from spsbench.replay.traces import TracedBlock, TracedCall, TraceError, parse_traces

EFFECTS = {operation.name for operations in OPERATIONS.values() for operation in operations}
READING = {"str", "repr", "list", "dict", "len", "dir", "vars", "type", "sorted", "print"}
READING_METHODS = {"keys", "values", "items", "copy", "strip", "lower"}
READING_EFFECTS = {"eval", "lookup", "deref", "ref"}


def count_needed_calls(block: TracedBlock, *, inputs_shown: bool) -> int:
    """One call, and one more after each that was told something new."""
    shown = block.names if inputs_shown else frozenset()
    news = [any(is_news(traced, shown) for traced in reply.calls) for reply in block.replies]
    return 1 + sum(news[:-1])


def is_news(traced: TracedCall, shown: frozenset[str]) -> bool:
    """Whether the answer to an effect told the model what it could not know."""
    if any(isinstance(answer, str) and answer.startswith("Error") for answer in traced.answers):
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
    match node:
        case ast.Name(name):
            return name in shown or name in READING
        case ast.Call(ast.Name(name)):
            return name in READING
        case ast.Call(ast.Attribute(attr=name)):
            return name in READING_METHODS
        case _:
            plain = ast.Attribute | ast.Subscript | ast.Constant | ast.Tuple | ast.expr_context
            return isinstance(node, plain)


def print_row(name: str, model: str, blocks: Iterable[TracedBlock]) -> None:
    """Print the means over the blocks of one file."""
    called = [
        block
        for block in blocks
        if any(traced.call.name in EFFECTS for reply in block.replies for traced in reply.calls)
    ]
    if not called:
        print(f"{name:<48}{model:<28}      -")
        return
    published = fmean(len(block.replies) for block in called)
    carried = fmean(count_needed_calls(block, inputs_shown=False) for block in called)
    needed = [count_needed_calls(block, inputs_shown=True) for block in called]
    one = needed.count(1) / len(needed)
    print(
        f"{name:<48}{model:<28}{len(called):>7}{published:>17.2f}{carried:>17.2f}"
        f"{fmean(needed):>17.2f}{one:>15.0%}"
    )


def main() -> int:
    if len(sys.argv) < 2:
        print("published_traces: name files of traces to have their calls counted")
        return 0
    heads = ("as published", "endings carried", "inputs shown")
    print(f"{'traces':<48}{'model':<28}{'blocks':>7}", end="")
    print("".join(f"{head:>17}" for head in heads) + f"{'one call':>15}")
    failed = False
    for path in map(Path, sys.argv[1:]):
        try:
            with path.open(encoding="utf-8") as lines:
                traces = list(parse_traces(lines))
        except (OSError, UnicodeDecodeError, TraceError) as problem:
            print(f"{path.stem:<48}{problem}")
            failed = True
            continue
        for model in dict.fromkeys(trace.model for trace in traces):
            own = [trace for trace in traces if trace.model == model]
            blocks = [block for trace in own for block in trace.blocks]
            print_row(path.stem, model.rpartition("/")[2], blocks)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
