"""The estimate of what an answer, or one piece of code, would have carried of a recorded block."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from spsbench.cli import main
from spsbench.replay.estimate import BlockEstimate, estimate_block
from spsbench.replay.traces import parse_trace

PROMPT = "Put into <:total> and <:best> what <words>, <graph>, <add> and <Word> say."


def call(id: str, name: str, arguments: dict[str, Any], answer: Any = None) -> list[dict[str, Any]]:
    """A call, and its answer unless it ended the block."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    sent = {"role": "assistant", "tool_calls": [{"id": id, "function": function}]}
    told = {"role": "tool", "tool_call_id": id, "content": answer}
    return [sent] if answer is None else [sent, told]


def estimate(*messages: dict[str, Any]) -> BlockEstimate:
    chat = [{"role": "user", "content": PROMPT}, *messages, *call("end", "done", {})]
    (block,) = parse_trace({"file_name": "menu", "run": 0, "trace": chat}).blocks
    found = estimate_block(block)
    assert found is not None
    return found


CARRIED = [
    "total = 3",
    "total = len(words)",
    "total = [word.upper() for word in words if word]",
    "counts = {}\nfor word in words:\n    counts[word] = counts.get(word, 0) + 1\ntotal = counts",
    "names = []\nnames.append(words[0])\ntotal = names",
    "total = sorted(words, key=lambda word: word.lower())",
    "total = Word('a')",
    "total = Word.RED",
    "import re\ntotal = re.findall('a', words[0])",
    "from datetime import datetime\ntotal = datetime(2025, 1, 1)",
    "total = graph.name.strip()",
    "total = words[1:]",
    "total = 1 if words else 2",
    "words += ' more'\ntotal = words",
    "total: int = int(words[0])",
]
NEEDING = [
    ("words.append(1)", "mutation"),
    ("words += [1]", "mutation"),
    ("graph.size = 3", "mutation"),
    ("graph.size += 3", "mutation"),
    ("del graph.nodes[3]", "mutation"),
    ("for word in words:\n    word.done = True", "mutation"),
    ("for i, word in enumerate(words):\n    word.done = True", "mutation"),
    ("first = words[0]\nfirst.done = True", "mutation"),
    ("first = [word for word in words if word][0]\nfirst.done = True", "mutation"),
    ("kept = [word for word in words]\nfor word in kept:\n    word.done = True", "mutation"),
    ("setattr(graph, 'size', 3)", "mutation"),
    ("next(iter(words)).done = True", "mutation"),
    ("total = add(3)", "call"),
    ("total = graph.search(3)", "call"),
    ("total = words[0](3)", "call"),
    ("import random\ntotal = random.random()", "call"),
    ("from time import time\ntotal = time()", "call"),
    ("total = eval('3')", "call"),
    ("def total():\n    return 3", "definition"),
    ("class Total(Word):\n    pass\ntotal = Total()", "definition"),
    ("total = lambda: 3", "definition"),
    ("total = (word for word in words)", "definition"),
    ("total = iter(words)", "definition"),
    ("best = words[0]", "object"),
    ("best, total = graph.ends", "object"),
    ("best = Word", "object"),
    ("best = words.get(3)", "object"),
    ("total = (", "unreadable"),
]


@pytest.mark.parametrize("code", CARRIED)
def test_code_that_only_makes_outputs_is_carried_by_an_answer(code: str) -> None:
    assert estimate(*call("a", "exec", {"code": code}, "Success")).needs == frozenset()


@pytest.mark.parametrize(("code", "need"), NEEDING)
def test_code_that_does_more_is_not(code: str, need: str) -> None:
    assert need in estimate(*call("a", "exec", {"code": code}, "Success")).needs
    failed = estimate(*call("a", "exec", {"code": code}, "Error: Code raised an error"))
    assert failed.needs == frozenset()


def ref(address: int) -> dict[str, Any]:
    return {"type": "Ref", "addr": address}


@pytest.mark.parametrize(
    ("calls", "needs"),
    [
        ([("assign", {"var": "total", "val": 3}, "Success")], set()),
        ([("assign", {"var": "total", "val": {"type": "list", "items": [1]}}, "Success")], set()),
        ([("assign", {"var": "total", "val": ref(4)}, "Success")], {"object"}),
        (
            [
                ("ref", {"val": {"type": "list", "items": []}}, '{"type": "Ref", "addr": 9}'),
                ("setref", {"ref": ref(9), "val": {"type": "list", "items": [1]}}, "Success"),
                ("assign", {"var": "total", "val": ref(9)}, "Success"),
            ],
            set(),
        ),
        ([("setref", {"ref": ref(4), "val": {"type": "list", "items": []}}, "Success")], {"mutation"}),
        ([("ref", {"val": {"type": "Class", "name": "A", "bases": []}}, "Success")], {"definition"}),
        ([("eval", {"expr": "add(3)"}, "3")], {"call"}),
        ([("goto", {"label": "return", "val": ref(4)}, "Success")], {"object"}),
        ([("return", {"variable": "'word'"}, "Success")], set()),
        ([("return", {"variable": "words"}, "Success")], {"object"}),
        ([("raise", {"error": "ValueError('no')"}, "Success")], set()),
    ],
)  # fmt: skip
def test_effects_of_all_sets_are_read(
    calls: list[tuple[str, dict[str, Any], str]], needs: set[str]
) -> None:
    messages = [
        message
        for number, (name, arguments, answer) in enumerate(calls)
        for message in call(str(number), name, arguments, answer)
    ]
    assert estimate(*messages).needs == needs


@pytest.mark.parametrize(
    ("expression", "answer", "needed"),
    [
        ("str(words)", "[1]", 1),
        ("graph.nodes['a']", "[1]", 1),
        ("words[0] + add(3)", "[1]", 2),
        ("str(words)", "Error: Code raised an error", 2),
    ],
)
def test_a_call_is_needed_after_each_reply_that_told_something_new(
    expression: str, answer: str, needed: int
) -> None:
    found = estimate(
        *call("a", "eval", {"expression": expression}, answer),
        *call("b", "exec", {"code": "total = 3"}, "Success"),
    )
    assert (found.calls, found.needed_calls) == (3, needed)


def test_the_command_prints_a_row_for_each_program_and_model(tmp_path: Path) -> None:
    chat = [
        {"role": "user", "content": PROMPT},
        *call("a", "exec", {"code": "total = 3"}, "Success"),
        *call("b", "done", {}),
        {"role": "user", "content": PROMPT},
        *call("c", "eval", {"expression": "add(3)"}, "3"),
        *call("d", "exec", {"code": "words.append(3)"}, "Success"),
        *call("e", "done", {}),
    ]
    runs = [("menu", "vendor/one"), ("menu", "vendor/two"), ("graph", "vendor/one")]
    lines = [
        json.dumps({"file_name": name, "model": model, "run": 0, "trace": chat})
        for name, model in runs
    ]
    (tmp_path / "traces.jsonl").write_text("\n".join(lines))
    shown = CliRunner().invoke(main, ["replay", "--estimate", str(tmp_path / "traces.jsonl")])
    assert shown.exit_code == 0, shown.output
    head, _, *rows = shown.output.splitlines()
    assert head.startswith("an estimate")
    assert [row.split() for row in rows] == [
        ["graph", "one", "2", "2.5", "1.5", "1", "1", "1", "50%"],
        ["menu", "one", "2", "2.5", "1.5", "1", "1", "1", "50%"],
        ["menu", "two", "2", "2.5", "1.5", "1", "1", "1", "50%"],
        ["(all)", "one", "4", "2.5", "1.5", "2", "2", "2", "50%"],
        ["(all)", "two", "2", "2.5", "1.5", "1", "1", "1", "50%"],
    ]
