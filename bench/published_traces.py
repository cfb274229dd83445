"""Calls a block in traces that others published, and how many the `direct` effects would have taken.

    python bench/published_traces.py TRACES.jsonl

    model                        blocks   as published   endings carried   inputs shown   one call
    claude-sonnet-4-20250514         10           2.70              1.70           1.00       100 %
    on this runtime: 62 effects of 16 blocks carried out, 3 of them refused; 16 blocks ended as published

A line of the file is `{"model": ..., "trace": [...]}`; the trace is a chat in which each `user` message opens a
block. A call was needed only where the one before it had told the model something new:

- `endings carried`: an `exec` that succeeds says nothing, so whatever follows it could have come with it;
- `inputs shown`: neither does an `eval` that only reads the inputs, which `direct` shows in its opening.

The second part replays the recorded calls in the effect set `nightjar`, on the inputs as far as the trace
tells them: it runs the recorded code, under the guard.
"""

from __future__ import annotations

import ast
import json
import keyword
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import njrt
from njrt.messages import ToolCall
from njrt.models.scripted import Scripted

Effect = tuple[str, dict[str, Any], Any]
"""A tool, its arguments, and what was answered."""

INPUTS = "\nType and Value (or Reference to Value) of Input Variables:\n"
INPUT = re.compile(r"^(\w+) \[type: .*?\]: .*?(?:\(Value: (.*)\))?$", re.MULTILINE)
OUTPUT = re.compile(r"<:(\w+)>")
READING = {"str", "repr", "list", "dict", "len", "dir", "vars", "type", "sorted", "print"}
READING_METHODS = {"keys", "values", "items", "copy", "strip", "lower"}
ENDINGS = {
    "done": "completed",
    "break": "broke",
    "continue": "continued",
    "return": "returned",
    "raise": "raised",
}


@dataclass(frozen=True)
class TracedBlock:
    """One run of a block: its opening, and for each call of the model the effects that it asked for."""

    model: str
    opening: str
    calls: tuple[tuple[Effect, ...], ...]

    @property
    def prompt(self) -> str:
        return self.opening.partition(INPUTS)[0]

    @property
    def inputs(self) -> dict[str, str]:
        """The inputs, and their values as they are written there, if they are."""
        return dict(INPUT.findall(self.opening.partition(INPUTS)[2]))

    @property
    def effects(self) -> list[Effect]:
        return [effect for call in self.calls for effect in call]


def blocks_in(path: Path) -> Iterator[TracedBlock]:
    """All blocks in a file of traces."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            written = json.loads(line)
            yield from blocks_of(written["model"].rpartition("/")[2], written["trace"])


def blocks_of(model: str, trace: list[dict[str, Any]]) -> Iterator[TracedBlock]:
    """Cut one chat where the user speaks."""
    starts = [at for at, message in enumerate(trace) if message["role"] == "user"]
    for start, end in zip(starts, [*starts[1:], len(trace)], strict=True):
        said = trace[start + 1 : end]
        answers = {each["tool_call_id"]: each["content"] for each in said if each["role"] == "tool"}
        calls = tuple(
            tuple(effect_of(call, answers) for call in message.get("tool_calls") or ())
            for message in said
            if message["role"] == "assistant"
        )
        if calls:
            yield TracedBlock(model, str(trace[start]["content"]), calls)


def effect_of(call: dict[str, Any], answers: dict[str, Any]) -> Effect:
    """Read a recorded tool call; arguments that are no JSON object were a mistake, and count as none."""
    try:
        arguments = json.loads(call["function"]["arguments"])
    except ValueError:
        arguments = {}
    name = call["function"]["name"]
    return name, arguments if isinstance(arguments, dict) else {}, answers.get(call["id"])


# ── how many calls ───────────────────────────────────────────────────────────────────────────────


def calls_needed(block: TracedBlock, *, inputs_shown: bool) -> int:
    """One call, and one more after each that was told something new."""
    shown = frozenset(block.inputs) if inputs_shown else frozenset()
    news = [any(is_news(effect, shown) for effect in call) for call in block.calls]
    return 1 + sum(news[:-1])


def is_news(effect: Effect, shown: frozenset[str]) -> bool:
    """Whether the answer to an effect told the model what it could not know."""
    name, arguments, answer = effect
    if isinstance(answer, str) and answer.startswith("Error"):
        return True
    if name != "eval":
        return False
    return not reads_only(arguments.get("expression") or arguments.get("expr") or "", shown)


def reads_only(expression: str, shown: frozenset[str]) -> bool:
    """Whether an expression does nothing but look at variables that are shown anyway."""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return False
    return bool(shown) and all(is_looking(node, shown) for node in ast.walk(tree.body))


def is_looking(node: ast.AST, shown: frozenset[str]) -> bool:
    match node:
        case ast.Name(name):
            return name in shown or name in READING
        case ast.Call(ast.Name(name)):
            return name in READING
        case ast.Call(ast.Attribute(attr=name)):
            return name in READING_METHODS
        case _:
            looking = ast.Attribute | ast.Subscript | ast.Constant | ast.Tuple | ast.expr_context
            return isinstance(node, looking)


# ── on this runtime ──────────────────────────────────────────────────────────────────────────────


def replayed(block: TracedBlock) -> Counter[str]:
    """Play the recorded calls on njrt; what came of them, in numbers."""
    values = values_of(block)
    outputs = dict.fromkeys(OUTPUT.findall(block.prompt))
    names = list(dict.fromkeys([*block.inputs, *outputs]))
    if values.keys() != block.inputs.keys() or not all(map(is_name, names)):
        return Counter({"inputs unknown": 1})
    script = [[ToolCall("", n, a, json.dumps(a)) for n, a, _ in call] for call in block.calls]
    with (
        njrt.using(model=Scripted(script), effects="nightjar", cache=False, max_code_seconds=2.0),
        njrt.watch() as watch,
        suppress(Exception),
    ):  # the account says how it ended
        program(list(outputs), names)(block.prompt, njrt, **values)
    (run,) = watch.runs
    ended = ENDINGS.get(block.effects[-1][0]) if block.effects else None
    return Counter(
        {
            "blocks": 1,
            "effects": len(run.effects),
            "refused": sum(act.is_refused for act in run.effects),
            "as published": int(run.outcome == ended),
        }
    )


def values_of(block: TracedBlock) -> dict[str, Any]:
    """The inputs whose values the opening tells, or the first answer to an `eval` of them."""
    values = {}
    for name, text in block.inputs.items():
        told = [text] + [
            answer
            for _, arguments, answer in block.effects
            if arguments.get("expression") in (name, f"str({name})", f"repr({name})")
        ]
        for each in told:
            try:
                values[name] = ast.literal_eval(str(each))
                break
            except (SyntaxError, ValueError):
                continue
    return values


def program(outputs: list[str], names: list[str]) -> Any:
    """A function with such a block in a loop, as njc would compile it."""
    inputs = [name for name in names if name not in outputs]
    lines = [
        f"def program(_prompt, _nj, {', '.join(f'{name}=None' for name in inputs)}):",
        *(f"    {name}: object" for name in outputs),
        "    for _ in (0,):",
        f"        _nj.run(_prompt, lambda: ({''.join(f'{name}, ' for name in names)}),"
        f" writes={' '.join(outputs)!r}, labels='break continue return', at='trace:1')",
    ]
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)
    return namespace["program"]


def is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text) and not text.startswith("_")


# ── the report ───────────────────────────────────────────────────────────────────────────────────


def report(blocks: Iterable[TracedBlock]) -> None:
    """Print a row for each model, and what became of all blocks here."""
    by_model: defaultdict[str, list[TracedBlock]] = defaultdict(list)
    for block in blocks:
        by_model[block.model].append(block)
    heads = ("as published", "endings carried", "inputs shown", "one call")
    print(f"{'model':<28}{'blocks':>7}" + "".join(f"{head:>17}" for head in heads))
    for model, some in by_model.items():
        published = mean(len(block.calls) for block in some)
        carried = mean(calls_needed(block, inputs_shown=False) for block in some)
        needed = [calls_needed(block, inputs_shown=True) for block in some]
        one = 100 * needed.count(1) / len(needed)
        row = f"{published:>17.2f}{carried:>17.2f}{mean(needed):>17.2f}{one:>15.0f} %"
        print(f"{model:<28}{len(some):>7}{row}")
    total: Counter[str] = Counter()
    for block in (each for some in by_model.values() for each in some):
        total += replayed(block)
    print(
        f"on this runtime: {total['effects']} effects of {total['blocks']} blocks carried out, "
        f"{total['refused']} of them refused; {total['as published']} blocks ended as published; "
        f"{total['inputs unknown']} blocks left out, for their inputs are not told"
    )


def mean(numbers: Iterable[int]) -> float:
    counted = list(numbers)
    return sum(counted) / len(counted)


def main() -> None:
    if len(sys.argv) != 2:
        print("published_traces: give a file of traces to have their calls counted")
        return
    report(blocks_in(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
