"""`njc trace` in the terminal: tables, steps, filters, damaged and foreign files."""

from __future__ import annotations

import json
import os
import re
import shlex
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from njc.commands import njc as njc_command
from njc.debug.trace_lines import MAX_LINE_BYTES
from njc.debug.trace_view.index import Selection, read_index
from njc.debug.trace_view.terminal import (
    format_run,
    format_trace,
)
from njrt.errors import ConfigurationError

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "reference" / "tracing.md").read_text()
FIRST = ROOT / "examples/traces/mailbox.jsonl"


def trace(*arguments: object) -> Result:
    return CliRunner().invoke(njc_command, ["trace", *map(str, arguments)], prog_name="njc")


def at(second: float) -> str:
    return f"2026-03-01T09:30:{second:09.6f}Z"


def line(event: str, run: str, second: float, **fields: Any) -> dict[str, Any]:
    return {"event": event, "run": run, "at": at(second)} | fields


def lines_of_run(
    run: str, second: float = 0, parent: str | None = None, **ended: Any
) -> list[dict[str, Any]]:
    """Return a run of two turns; the first effect is refused, the second prints."""
    usage = {"input": 100, "output": 20, "usd": 0.25}
    begin = {"place": "shop.njpy:3", "model": "openai/gpt-4.1", "effects": "direct"}
    begin |= {"instruction": ["Sum <prices>."], "state": {"prices": "list[int] = [3, 4]"}}
    call = {"turn": 1, "effect": {"kind": "Run", "code": "total = f()"}, "seconds": 0.5}
    return [
        line("began", run, second, **begin, **({"parent": parent} if parent else {})),
        line("asked", run, second + 0.1, turn=1, shown=[{"user": ["Sum <prices>."]}]),
        line("replied", run, second + 1, turn=1, seconds=0.9, model="gpt-4.1-x", source="model",
             reply={"text": ["total = f()"], "usage": usage}),
        line("performed", run, second + 1.5, **call, kind="refusal", result="NameError: f"),
        line("asked", run, second + 1.6, turn=2, shown=[{"results": [{"name": "run", "text": ["NameError: f"]}]}]),
        line("replied", run, second + 2, turn=2, seconds=0.4, reply={"usage": usage}, source="cache"),
        line("performed", run, second + 2.1, **call | {"turn": 2}, kind="outcome", result="completed",
             changes={"total": "int = 7", "prices": None}, printed="7\n"),
        line("ended", run, second + 2.2, **{"outcome": "completed", "seconds": 2.2} | ended),
    ]  # fmt: skip


def write(target: Path, lines: Iterable[Mapping[str, Any] | str]) -> Path:
    texts = [record if isinstance(record, str) else json.dumps(record) + "\n" for record in lines]
    target.write_text("".join(texts))
    return target


# ── What is printed ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "listing", re.findall(r"^```console\n\$ njc trace (.*?)\n(.*?)^```$", DOCUMENT, re.M | re.S)
)
def test_the_document_shows_the_literal_output(
    listing: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    arguments, expected = listing
    result = trace(*shlex.split(arguments))
    assert result.exit_code == 0
    assert result.stdout == expected


def test_the_table_is_cut_at_the_width_of_the_terminal() -> None:
    whole, cut = (list(format_trace(read_index(FIRST), Selection(), it)) for it in (None, 40))
    assert cut == [whole[0], *(line[:40] for line in whole[1:])]


def test_nested_runs_stand_below_the_run_that_called_them(tmp_path: Path) -> None:
    inner = lines_of_run("r-2", 1, "r-1")
    outer = lines_of_run("r-1")
    last = lines_of_run("r-3", 9)
    mixed = [*outer[:4], *last[:2], *inner, *outer[4:], *last[2:]]
    index = read_index(write(tmp_path / "t.jsonl", mixed))
    assert [(run.id, run.depth, run.parent) for run in index.runs] == [
        ("r-1", 0, None),
        ("r-2", 1, 1),
        ("r-3", 0, None),
    ]
    assert [run.refusals for run in index.runs] == [1, 1, 1]
    assert index.runs[0].tokens == 240
    assert index.runs[0].usd == 0.25  # the second reply came from the cache
    assert index.runs[0].model == "gpt-4.1-x"


def test_parents_in_a_circle_are_all_shown(tmp_path: Path) -> None:
    lines = [line("began", "a", 0, parent="b", place="x.njpy:1"), line("began", "b", 1, parent="a", place="x.njpy:2"),
             line("began", "c", 1, parent="c", place="x.njpy:3")]  # fmt: skip
    assert sorted(run.id for run in read_index(write(tmp_path / "t", lines)).runs) == [
        "a",
        "b",
        "c",
    ]


def test_a_run_is_found_by_number_or_id(tmp_path: Path) -> None:
    file = write(tmp_path / "t.jsonl", [*lines_of_run("r-1"), *lines_of_run("r-2", 5)])
    assert trace(file, "2").stdout == trace(file, "r-2").stdout
    assert "run 2, shop.njpy:3: completed in 2.20 s" in trace(file, "2").stdout
    missing = trace(file, "3")
    assert missing.exit_code == 2
    assert "has no run `3`; it has runs 1 to 2" in missing.stderr


def test_the_steps_show_code_changes_prints_and_results(tmp_path: Path) -> None:
    file = write(tmp_path / "t.jsonl", lines_of_run("r-1", error="boom", outcome="raised"))
    assert trace(file, "1").stdout == (
        "run 1, shop.njpy:3: raised boom in 2.20 s\n"
        "gpt-4.1-x, 2 calls, 240 tokens, $0.2500\n"
        "\n"
        "0 enter, direct\n"
        "    Sum <prices>.\n"
        "  = prices: list[int] = [3, 4]\n"
        "\n"
        "1 effect, Run, refusal, 1.40 s, 120 tokens, $0.2500\n"
        "    total = f()\n"
        "  > NameError: f\n"
        "\n"
        "2 effect, Run, 0.90 s, 120 tokens, $0.0000, cache\n"
        "    total = f()\n"
        "  = total: int = 7\n"
        "  = prices: list[int] = [3, 4]\n"
        "    -> (not bound)\n"
        "  | 7\n"
        "  > completed\n"
        "\n"
        "3 exit\n"
        "  > raised: boom\n"
    )


def test_calls_without_an_effect_are_steps(tmp_path: Path) -> None:
    lines = lines_of_run("r-1")[:2]
    lines += [line("unanswered", "r-1", 2, turn=1, seconds=1.0, error="ServerError: too busy")]
    lines += [line("asked", "r-1", 3, turn=2, shown=[])]
    index = read_index(write(tmp_path / "t.jsonl", lines))
    steps = list(index.read_steps(index.runs[0]))
    assert [(step.kind, step.result) for step in steps] == [
        ("enter", ""),
        ("call", "ServerError: too busy"),
        ("call", "no reply in the trace"),
    ]
    assert "no end in the trace" in trace(tmp_path / "t.jsonl").stdout


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], "cheap slow jump other"),
        (["--refusals"], "slow"),
        (["--search", "NAMEERROR: f"], "slow"),
        (["--search", "no such text"], ""),
        (["--search", "none"], ""),
        (["--search", "prices"], "slow"),
        (["--search", "SHOP.njpy:3"], "cheap slow jump"),
        (["--search", "other.njpy"], "other"),
        (["--search", "OpenAI/gpt"], "slow"),
        (["--search", "broke"], "jump"),
        (["--unchanged"], "cheap other"),
        (["--unchanged", "--search", "other.njpy"], "other"),
    ],
)
def test_filters_choose_runs(tmp_path: Path, flags: list[str], expected: str) -> None:
    def small(
        run: str, second: float, place: str = "shop.njpy:3", **ended: Any
    ) -> list[dict[str, Any]]:
        end = {"outcome": "completed", "seconds": 0.1, "changes": {}, "digest": "d"} | ended
        return [line("began", run, second, place=place), line("ended", run, second + 0.1, **end)]

    lines = [*small("cheap", 0), *lines_of_run("slow", 1), *small("jump", 5, outcome="broke")]
    file = write(tmp_path / "t.jsonl", [*lines, *small("other", 6, "other.njpy:9")])
    numbers = re.findall(r"^ *(\d+)  ", trace(file, *flags).stdout, re.M)
    names = ["cheap", "slow", "jump", "other"]
    assert [names[int(number) - 1] for number in numbers] == expected.split()


ROWS = [
    ({"state": {"n": "int = 1"}, "changes": {"n": "int = 2"}}, "n=1", "n=2"),
    ({"state": {"n": "int = 1"}, "changes": {"n": None}}, "n=1", "del n"),
    ({"state": {}, "changes": {"t": f"str = '{'a' * 40}'"}}, "", f"t='{'a' * 22}…"),
    ({"state": {"t": "str = 'b'"}, "changes": {"t": f"str = '{'a' * 40}'"}}, "t='b'", "t"),
    ({"state": {"f": "function f"}, "changes": {}}, "f", "nothing"),
    ({"changes": {}, "printed": "7\n"}, "", "printed"),
    ({"changes": {}, "outcome": "returned"}, "", ""),
    ({"changes": {}, "outcome": "failed"}, "", "nothing"),
    ({"changes": None, "digest": ""}, "", ""),
    ({"changes": {f"v{n}": "int = 12345" for n in range(9)}}, "", "v0=12345, v1=12345, v2=12345, v3=12345, v4=12345, v5=12345,…"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "given", "changed"), ROWS)
def test_a_row_has_what_came_in_and_what_changed(
    tmp_path: Path, fields: dict[str, Any], given: str, changed: str
) -> None:
    ended = {"outcome": "completed", "seconds": 0.1, "digest": "d"} | fields
    began = {"state": ended.pop("state", None)}
    lines = [line("began", "r", 0, place="a.njpy:1", **began), line("ended", "r", 0.1, **ended)]
    (run,) = read_index(write(tmp_path / "t.jsonl", lines)).runs
    assert (run.given, run.changed) == (given, changed)
    assert run.is_unchanged == (changed == "nothing")


def test_filters_choose_steps_of_a_run(tmp_path: Path) -> None:
    file = write(tmp_path / "t.jsonl", lines_of_run("r-1"))
    heads = re.findall(r"^\d .*", trace(file, "1", "--refusals").stdout, re.M)
    assert heads == ["1 effect, Run, refusal, 1.40 s, 120 tokens, $0.2500"]
    assert "2 effect" in trace(file, "1", "--search", "int = 7").stdout


def test_only_the_shown_runs_are_counted(tmp_path: Path) -> None:
    inner = [it | {"place": "mail.njpy:1"} for it in lines_of_run("r-2", 1, parent="r-1")]
    outer = lines_of_run("r-1", seconds=5.0)
    first = write(tmp_path / "a", [*outer[:-1], *inner, outer[-1], *lines_of_run("r-3", 9)])
    assert ", 7.2 s" in trace(first).stdout
    assert "2 of 3 runs" in trace(first, "--search", "shop.njpy").stdout
    assert ", 2.2 s" in trace(first, "--search", "mail.njpy").stdout


def test_old_times_and_odd_decisions_break_nothing(tmp_path: Path) -> None:
    lines = lines_of_run("r-1")
    lines[0]["at"] = "0001-01-01T00:00:00"
    lines[6]["decisions"] = [{"decision": "edit", "effect": "x"}, {"decision": "accept"}]
    file = write(tmp_path / "t", lines)
    assert trace(file).exit_code == trace(file, "1").exit_code == 0
    assert "total = f()" in trace(file, "1").stdout


# ── Damaged and foreign files ────────────────────────────────────────────────────────────────────

WHOLE = lines_of_run("r-1")
TEXT = "".join(json.dumps(record) + "\n" for record in WHOLE)


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (TEXT[:-30], "line 8 is left out: cut off: the line has no end"),
        (TEXT + "{nonsense}\n[1]\n\n", "line 9 (and 1 more) is left out: not JSON"),
        (TEXT + '{"event": "ended"}\n', "line 9 is left out: "),
        ("".join(TEXT.splitlines(True)[2:]), "1 run started before this trace"),
    ],
    ids=["cut off", "not JSON", "fields missing", "no begin"],
)  # fmt: skip
def test_what_can_be_read_of_a_damaged_trace_is_shown(
    tmp_path: Path, text: str, warning: str
) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(text)
    result = trace(file)
    assert result.exit_code == 0
    assert warning in result.stderr
    assert "1 run, " in result.stdout


def test_new_fields_and_processes_are_no_problem(tmp_path: Path) -> None:
    lines = [
        record | {"weather": "fine"} for record in (*lines_of_run("aa-1"), *lines_of_run("bb-1", 1))
    ]
    index = read_index(write(tmp_path / "t", sorted(lines, key=lambda record: record["at"])))
    assert (len(index.runs), index.problems) == (2, ())


def test_a_line_that_is_too_long_is_left_out(tmp_path: Path) -> None:
    file = write(tmp_path / "t", ["x" * (2 * MAX_LINE_BYTES + 5) + "\n", *WHOLE])
    index = read_index(file)
    assert "line 1 is left out: longer than" in index.problems[0]
    assert len(list(index.read_steps(index.runs[0]))) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no trace of a run: no natural block has run yet"),
        (
            (ROOT / "examples/recordings/rules.jsonl").read_text(),
            "this is a recording; NJC_TRACE",
        ),
        ("# njc\n\nSome prose.\n", "has no trace of a run"),
        ("\0\1\2", "has no trace of a run"),
        ('{"event": "purchase", "sum": 3}\n', "has no trace of a run"),
    ],
)
def test_other_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(text)
    result = trace(file)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert "njc run --trace trace.jsonl FILE" in result.stderr


def test_a_trace_from_a_pipe_is_shown(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for arguments, shown in (
        ((), "6 runs, 6 calls"),
        (("2",), "run 2, mailbox.njpy:17: completed"),
    ):
        writer = threading.Thread(target=pipe.write_bytes, args=(FIRST.read_bytes(),), daemon=True)
        writer.start()
        assert trace(pipe, *arguments).output.startswith(shown)
        writer.join()


def test_missing_files_and_wrong_arguments_are_named(tmp_path: Path) -> None:
    assert "No such file" in trace(tmp_path / "nix.jsonl").stderr
    assert "Is a directory" in trace(tmp_path).stderr
    assert "has no run `nix`; it has runs 1 to 6" in trace(FIRST, "nix").stderr
    shown = trace(FIRST, "1", "--html", tmp_path / "x.html").stderr
    assert "--html shows all runs of a trace; leave RUN out" in shown


def test_a_page_replaces_no_trace_that_it_shows(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_bytes(FIRST.read_bytes())
    result = trace(file, "--html", file)
    assert (result.exit_code, file.read_bytes()) == (2, FIRST.read_bytes())
    assert "is an input of this command; write to another file" in result.stderr


def test_a_page_replaces_no_other_file(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html>\nmine\n")
    refused = trace(FIRST, "--html", page)
    assert (refused.exit_code, "is not a report of njc" in refused.output) == (2, True)
    page.write_text("")
    for _ in range(2):
        assert trace(FIRST, "--html", page).exit_code == 0
    assert "mine" not in page.read_text()


def test_texts_of_a_trace_cannot_control_the_terminal(tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\r\u202e"
    lines = json.loads(json.dumps(WHOLE).replace("Run", "Run" + json.dumps(hostile)[1:-1]))
    for record in lines:
        record["place"] = record["model"] = record["result"] = record["error"] = record[
            "outcome"
        ] = hostile
        record["state"] = record["changes"] = {hostile: hostile}
        record["printed"] = hostile
        if record["event"] in ("performed", "ended"):
            record.pop("state")
    file = write(tmp_path / "t", lines)
    for printed in (trace(file).stdout, trace(file, "1").stdout):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", printed)
        assert "\\x1b" in printed


MAILBOX = read_index(FIRST)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 1 << 40) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
FIELDS = sorted({name for record in WHOLE for name in record})


@given(
    st.lists(st.tuples(st.integers(0, 7), st.sampled_from(FIELDS), json_values), max_size=6),
    st.integers(0, 40),
)
def test_no_field_of_any_type_breaks_a_view(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, str, Any]], cut: int
) -> None:
    """Lines are shown or counted, whatever their fields hold."""
    lines = [dict(record) for record in WHOLE]
    for number, name, value in changes:
        lines[number][name] = value
    text = "".join(json.dumps(record) + "\n" for record in lines)
    file = tmp_path_factory.getbasetemp() / "hostile.jsonl"
    file.write_text(text[: len(text) - cut])
    try:
        index = read_index(file)
    except ConfigurationError:
        return
    assert index.runs
    for run in index.runs:
        assert list(format_run(run, index.read_steps(run), Selection()))
    assert list(format_trace(index, Selection(search="x"), 40))
