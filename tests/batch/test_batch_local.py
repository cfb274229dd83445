"""`njc batch`: rows and their errors, executors, limits, results of interrupted runs."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batch_workplace import PROGRAM, BatchWorkplace, expect
from computed_server import ComputedServer

from njc.batch.executors import open_executor
from njc.batch.rows import read_rows
from waiting import HANG_SECONDS, wait_until

pytest.importorskip("openai")

THOROUGH = bool(os.environ.get("NJC_THOROUGH"))  # tests remove it

PLAIN = """\
from dataclasses import dataclass
from datetime import date
from enum import Enum


class Color(Enum):
    RED = "red"


@dataclass
class Order:
    item: str
    count: int = 1


def describe(day: date, order: Order, color: Color = Color.RED, *, tags: set[str] = frozenset()):
    return {"day": day, "order": order, "color": color, "tags": sorted(tags)}


def echo(value):
    if value == "exit":
        raise SystemExit(3)
    if value == "object":
        return object()
    if value == "long":
        return 10**5000
    if value == "infinite":
        return [float("inf"), float("nan")]
    if value == "surrogate":
        return "\\ud800"
    if value == "stop":
        raise StopIteration("over")
    return value


def positional(a: int, /, b: int = 2, **others: int):
    return [a, b, others]


async def double(number: int):
    return 2 * number


def numbers():
    yield 1
"""

ROWS: list[tuple[str, Any, Any]] = [
    ("describe", {"day": "2026-03-01", "order": {"item": "tea"}}, {"day": "2026-03-01", "order": {"item": "tea", "count": 1}, "color": "red", "tags": []}),
    ("describe", {"day": "2026-03-01", "order": {"item": "tea"}, "tags": ["b", "a"]}, {"day": "2026-03-01", "order": {"item": "tea", "count": 1}, "color": "red", "tags": ["a", "b"]}),
    ("describe", {"day": "soon", "order": {"item": "tea"}}, "InvalidRowError: argument `day`: Input should be a valid date"),
    ("describe", {"order": {"item": "tea"}}, "InvalidRowError: no argument `day`"),
    ("describe", {"day": "2026-03-01", "order": {"item": "tea"}, "colour": "red"}, "InvalidRowError: the function has no parameter `colour`; did you mean `color`?"),
    ("echo", "[1, 2]", "InvalidRowError: not a JSON object"),
    ("echo", "{", "InvalidRowError: not JSON: "),
    ("echo", '{"value": 1, "value": 2}', "InvalidRowError: the key `value` is there more than once"),
    ("echo", '{"value": {"a": 1, "b": 1, "a": 1}}', "InvalidRowError: the key `a` is there more than once"),
    ("echo", '{"value": NaN}', "NaN"),
    ("echo", '{"value": "\\u0000\u2028\u0085"}', "\0\u2028\x85"),
    ("echo", "null", "InvalidRowError: not a JSON object"),
    ("echo", "\0", "InvalidRowError: not JSON: "),
    ("echo", '{"value": ' + "[" * 100_000 + "]" * 100_000 + "}", "InvalidRowError: not JSON: "),
    ("echo", '{"value": "\\ud800"}', "\ud800"),
    ("echo", {"value": "exit"}, "SystemExit: 3"),
    ("echo", {"value": "object"}, "TypeError: the result, a object, has no JSON form"),
    ("echo", {"value": "long"}, "TypeError: the result, a int, has no JSON form"),
    ("echo", {"value": "infinite"}, ["Infinity", "NaN"]),
    ("echo", {"value": "surrogate"}, "\ud800"),
    ("echo", {"value": "stop"}, "StopIteration: over"),
    ("echo", {"value": {"nested": [1, None, "é"]}}, {"nested": [1, None, "é"]}),
    ("positional", {"a": 1, "c": "3"}, [1, 2, {"c": 3}]),
    ("double", {"number": 4}, 8),
]  # fmt: skip


@pytest.mark.parametrize("function", sorted({function for function, *_ in ROWS}))
def test_rows_give_results_or_errors(here: BatchWorkplace, function: str) -> None:
    here.write_program(PLAIN, "plain.py")
    cases = [(row, wanted) for name, row, wanted in ROWS if name == function]
    here.write_rows(row for row, _ in cases)
    is_failed = any(isinstance(wanted, str) and "Error: " in wanted for _, wanted in cases)
    here.batch(environ={}, target=f"plain.py:{function}", code=int(is_failed))
    for line, (_, wanted) in zip(here.read_results(), cases, strict=True):
        if "error" in line:
            found = f"{line['error']['type']}: {line['error']['message']}"
            assert found.startswith(wanted)
        else:
            assert line["result"] == wanted


def test_blank_lines_and_marks_of_windows_do_not_matter(here: BatchWorkplace) -> None:
    here.write_program(PLAIN, "plain.py")
    text = '\ufeff{"value": 1}\r\n\r\n{"value": 2}\n   \n{"value": "\xff"}'
    Path("rows.jsonl").write_bytes(text.encode()[:-4] + b'\xff"}')
    here.batch(environ={}, target="plain.py:echo", code=1)
    first, second, third = here.read_results()
    assert (first["result"], second["result"], third["index"]) == (1, 2, 2)
    assert third["error"]["message"].startswith("not UTF-8: ")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("prog.njpy", "write PROGRAM:FUNCTION"),
        ("missing.njpy:f", "there is no file missing.njpy"),
        ("missing_module:f", "there is no module `missing_module`"),
        ("plain.py:echoo", "did you mean `echo`?"),
        ("plain.py:Order", "is not a function"),
        ("plain.py:numbers", "is a generator"),
        ("plain.py:Order.__init__", "is a method, and has no object"),
        ("broken.py:f", "cannot be imported: ZeroDivisionError"),
        ("leaving.py:f", "cannot be imported: SystemExit: 0"),
    ],
)
def test_what_is_no_function_is_refused(here: BatchWorkplace, target: str, message: str) -> None:
    here.write_program(PLAIN, "plain.py")
    here.write_program("1 / 0", "broken.py")
    here.write_program("raise SystemExit(0)", "leaving.py")
    here.write_rows([{}])
    assert message in here.batch(environ={}, target=target, code=2)
    assert not Path("out.jsonl").exists()


def test_a_program_with_mistakes_is_shown(here: BatchWorkplace) -> None:
    here.write_program('def f(mail):\n    """natural\n    Read <mial>.\n    """\n')
    here.write_rows([{"mail": ""}])
    assert "prog.njpy:3" in here.batch(environ={}, target="prog.njpy:f", code=1)


def test_rows_that_cannot_be_read(here: BatchWorkplace) -> None:
    here.write_program(PLAIN, "plain.py")
    assert "cannot read rows.jsonl" in here.batch(environ={}, target="plain.py:echo", code=2)
    for encoding in ("utf-16", "utf-16-be"):
        Path("rows.jsonl").write_text('\ufeff{"value": 1}'[encoding == "utf-16" :], encoding)
        assert "is in UTF-16" in here.batch(environ={}, target="plain.py:echo", code=2)


@pytest.mark.parametrize("kept", [0, 30, 75, -1])
def test_a_file_of_results_that_was_damaged_is_written_again(
    here: BatchWorkplace, kept: int
) -> None:
    here.write_program(PLAIN, "plain.py")
    here.write_rows({"value": number} for number in range(2))
    here.batch(environ={}, target="plain.py:echo")
    whole = Path("out.jsonl").read_bytes()
    Path("out.jsonl").write_bytes(whole[:kept])
    here.batch(environ={}, target="plain.py:echo")
    assert Path("out.jsonl").read_bytes() == whole


# ── models ───────────────────────────────────────────────────────────────────────────────────────


EXPECTED_CALLS = 2


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_executors_give_the_same_results(here: BatchWorkplace, executor: str) -> None:
    here.write_program()
    here.write_rows({"mail": f"mail {number}"} for number in range(6))
    with ComputedServer() as server:
        printed = here.batch("--executor", executor, "-j", "2", environ=server.environment)
    results = here.read_results()
    assert [line["result"] for line in results] == [expect(number) for number in range(6)]
    assert all(line["usage"]["calls"] == EXPECTED_CALLS for line in results)
    assert "12 model calls, 12,240 tokens, $0.0151" in printed


def test_dask_gives_the_same_results(here: BatchWorkplace) -> None:
    distributed = pytest.importorskip("distributed")
    here.write_program(PLAIN, "plain.py")
    here.write_rows({"value": number} for number in range(4))
    options = {
        "n_workers": 1,
        "threads_per_worker": 2,
        "processes": False,
        "dashboard_address": None,
    }
    with distributed.LocalCluster(**options) as cluster:
        here.batch(
            "--executor", "dask", "--address", cluster.scheduler_address, "-j", "2",
            environ={}, target="plain.py:echo",
        )  # fmt: skip
    assert [line["result"] for line in here.read_results()] == [0, 1, 2, 3]


def test_a_cluster_gets_as_many_rows_at_a_time_as_were_asked_for(here: BatchWorkplace) -> None:
    distributed = pytest.importorskip("distributed")
    program = """\
        import threading, time

        lock, running = threading.Lock(), []

        def count(value):
            with lock:
                running.append(value)
                now = len(running)
            time.sleep(0.05)
            with lock:
                running.remove(value)
            return now
        """
    here.write_program(textwrap.dedent(program), "plain.py")
    here.write_rows({"value": number} for number in range(8))
    options = {"threads_per_worker": 4, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(n_workers=1, **options) as cluster:
        here.batch(
            *("--executor", "dask", "--address", cluster.scheduler_address, "-j", "2"),
            environ={},
            target="plain.py:count",
        )
    assert max(line["result"] for line in here.read_results()) <= 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--address", "tcp://127.0.0.1:1"], "--address needs --executor dask or ray"),
        (
            ["--address", "tcp://127.0.0.1:1", "--executor", "threads"],
            "--address needs --executor dask or ray",
        ),
        (["--vendor-batch", "openai", "-j", "2"], "--jobs and --vendor-batch exclude each other"),
        (
            ["--vendor-batch", "openai", "--address", "x"],
            "--address and --vendor-batch exclude each other",
        ),
        (
            ["--vendor-batch", "openai", "--executor", "threads"],
            "--executor and --vendor-batch exclude each other",
        ),
        (["--poll", "3"], "--poll needs --vendor-batch"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    here: BatchWorkplace, words: list[str], message: str
) -> None:
    here.write_program(PLAIN, "plain.py")
    here.write_rows([{"value": 1}])
    assert message in here.batch(*words, environ={}, target="plain.py:echo", code=2)


def test_async_functions_run_at_the_same_time(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows({"first": f"mail {n}", "second": f"mail {n + 100}"} for n in range(4))
    with ComputedServer() as server:
        here.batch(environ=server.environment, target="prog.njpy:sort_both")
    assert [line["result"] for line in here.read_results()] == [
        [f"k{number}", f"k{number + 100}"] for number in range(4)
    ]


def test_async_needs_an_async_function(here: BatchWorkplace) -> None:
    here.write_program(PLAIN, "plain.py")
    here.write_rows([{}])
    printed = here.batch("--executor", "async", environ={}, target="plain.py:echo", code=2)
    assert "is not async; use --executor threads" in printed


def test_a_revoked_key_stops_the_batch_and_fails_no_row(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows({"mail": f"mail {number}"} for number in range(20))
    with ComputedServer(limit=12) as server:
        printed = here.batch("-j", "1", environ=server.environment, code=3)
        assert "6 rows done, 0 of them failed" in printed
        assert [line["result"] for line in here.read_results()] == [expect(n) for n in range(6)]
        server.limit = None
        here.batch(environ=server.environment)
        asked = len(server.seen)
    assert [line["result"] for line in here.read_results()] == [expect(n) for n in range(20)]
    assert asked <= 40 + 2, "done rows were asked again"


def test_an_outage_stops_the_batch(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows({"mail": f"mail {number}"} for number in range(40))
    with ComputedServer() as server:
        server.is_down = True
        printed = here.batch("-j", "10", environ=server.environment, code=3)
        assert "the model failed for 2" in printed
        assert 20 <= len(here.read_results()) <= 40
        server.is_down = False
        here.batch("--retry", environ=server.environment)
    assert [line["result"] for line in here.read_results()] == [expect(n) for n in range(40)]


@pytest.mark.parametrize("result", [None, "old\n"])
def test_without_a_model_nothing_is_written(here: BatchWorkplace, result: str | None) -> None:
    here.write_program()
    here.write_rows([{"mail": "mail 1"}])
    out = here.folder / "out.jsonl"
    if result is not None:
        out.write_text(result)
    printed = here.batch("--fresh", environ={"NJC_MODEL": ""}, code=2)
    assert "no model is configured" in printed
    assert "written" not in printed
    assert (out.read_text() if out.exists() else None) == result
    assert not (here.folder / "out.jsonl.batch").exists()


def test_a_program_whose_name_is_not_unicode_is_continued(here: BatchWorkplace) -> None:
    name = os.fsdecode(b"pl\xe4in.py")
    here.write_program(PLAIN, name)
    here.write_rows([{"value": 1}])
    for _ in range(2):
        here.batch(environ={"NJC_BASE_URL": "\udcff"}, target=f"{name}:echo")
    assert [line["result"] for line in here.read_results()] == [1]
    here.write_program(f"{PLAIN}\n", name)
    printed = here.batch(environ={"NJC_BASE_URL": ""}, target=f"{name}:echo", code=2)
    assert "in.py and NJC_BASE_URL changed after 1 rows had been called" in printed


def test_the_cost_is_limited(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows({"mail": f"mail {number}"} for number in range(12))
    with ComputedServer() as server:
        printed = here.batch("--max-usd", "0.03", "-j", "1", environ=server.environment, code=3)
        assert "`--max-usd`" in printed
        done = len(here.read_results())
        assert 0 < done < 12
        assert all("result" in line for line in here.read_results())
        here.batch("--max-usd", "1", environ=server.environment)
    assert len(here.read_results()) == 12


@pytest.mark.parametrize("per", ["day", "total", "run"])
def test_a_budget_of_all_rows_stops_the_batch(here: BatchWorkplace, per: str) -> None:
    here.write_program()
    here.write_rows({"mail": f"mail {number}"} for number in range(4))
    with ComputedServer() as server:
        budget = {"NJC_BUDGET": f"tokens=1 per={per}", "NJC_STORE": str(here.folder / "store")}
        environ = server.environment | budget
        printed = here.batch("-j", "1", environ=environ, code=1 if per == "run" else 3)
        assert server.seen == []
        assert f"the budget `tokens=1 per={per}` allows" in printed
        failed = [line["error"]["type"] for line in here.read_results()]
        assert failed == ["BudgetError"] * (4 if per == "run" else 0)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ("(votes=3)", 6),
        ('(second_model="openai/gpt-4.1-mini", second_below=0.9)', 2),
        ('(model="openai/gpt-4.1,anthropic/claude-sonnet-4-6")', 2),
        ('(model="python:own_model:m")', None),
    ],
)
def test_an_estimate_of_combined_models_sends_nothing(
    here: BatchWorkplace, options: str, count: int | None
) -> None:
    here.write_program(PROGRAM.replace('"""natural\n', f'"""natural{options}\n'))
    here.write_program(OWN_MODEL, "own_model.py")
    here.write_rows({"mail": f"mail {number}"} for number in range(2))
    with ComputedServer() as server:
        code = 2 if count is None else 0
        printed = here.batch("--estimate", environ=server.environment, code=code)
        assert server.seen == []
    if count is None:
        assert "requests to own cannot be measured without being sent" in printed
    else:
        assert f"first requests of 2 rows: {count}, about" in printed


OWN_MODEL = """\
class Own:
    name, protocol = "own", "text"

    def ask(self, request):
        raise AssertionError("a request was sent")

    aask = ask


def open_model(name):
    return Own()
"""


def test_an_estimate_sends_nothing(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows({"mail": f"mail {number}"} for number in range(100))
    with ComputedServer() as server:
        printed = here.batch("--estimate", environ=server.environment)
        assert server.seen == []
        assert "100 rows, 0 of them done" in printed
        assert "first requests of 50 rows: 50, about" in printed
        assert "to openai/gpt-4.1" in printed
        assert "the 100 rows that are left, with 150 output tokens each: about $0." in printed
        here.batch("--rows", "4", environ=server.environment)
        printed = here.batch("--estimate", environ=server.environment)
        assert "by the cost of the 4 rows that are done ($0.00252 each): $0.24 ± 0.00" in printed


def kill_when(process: subprocess.Popen[str], is_time: Callable[[], bool]) -> None:
    """Kill a process, which must not end before, as soon as something is so."""
    try:
        wait_until(lambda: is_time() or process.poll() is not None)
        is_running = process.poll() is None
    finally:
        process.kill()
        printed, errors = process.communicate(timeout=HANG_SECONDS)
    assert is_running, printed + errors


def test_a_killed_run_goes_on(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows({"mail": f"mail {number}"} for number in range(30))
    with ComputedServer(delay=0.02) as server:
        process = here.start("-j", "2", environ=server.environment)
        kill_when(process, lambda: len(server.seen) >= 20)
        first = len(server.seen)
        here.batch(environ=server.environment)
        asked = len(server.seen)
    assert [line["result"] for line in here.read_results()] == [expect(n) for n in range(30)]
    # Four rows are under way at most, and two requests may come in after the kill.
    assert asked <= 60 + 2 * 4 + 2, f"{first} requests before the kill, {asked} in all"


def test_changed_and_added_rows_are_called_and_others_are_not(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows({"mail": f"mail {number}"} for number in range(4))
    with ComputedServer() as server:
        here.batch(environ=server.environment)
        here.write_rows({"mail": f"mail {number}"} for number in (0, 9, 2, 3, 4))
        here.batch(environ=server.environment)
        assert len(server.seen) == 8 + 4
        assert [line["result"]["urgency"] for line in here.read_results()] == [0, 9, 2, 3, 4]
        here.write_rows({"mail": f"mail {number}"} for number in (0, 9))
        here.batch(environ=server.environment)
    assert [line["result"]["urgency"] for line in here.read_results()] == [0, 9]


def test_results_that_cannot_be_continued_are_kept(here: BatchWorkplace) -> None:
    here.write_program(PLAIN, "plain.py")
    here.write_rows([{"value": 1}])
    Path("out.jsonl").write_text("mine\n")
    printed = here.batch(environ={}, target="plain.py:echo", code=2)
    assert "--fresh overwrites it" in printed
    assert Path("out.jsonl").read_text() == "mine\n"
    here.batch("--fresh", environ={}, target="plain.py:echo")
    assert here.read_results()[0]["result"] == 1
    printed = here.batch(environ={}, target="plain.py:positional", code=2)
    assert "has results of" in printed


ENDS_LAST = """\
import time
from pathlib import Path

MARK, LOG = Path("mark"), Path("out.jsonl.batch/state.sqlite3-wal")


def end(is_last: bool):
    if not is_last:
        MARK.touch()
        time.sleep(0.05)  # times of files are not exact
    while is_last and not (MARK.exists() and LOG.stat().st_mtime_ns > MARK.stat().st_mtime_ns):
        time.sleep(0.01)  # until the result of the other row has been stored
"""


def test_results_may_come_in_the_order_of_their_ends(here: BatchWorkplace) -> None:
    here.write_program(ENDS_LAST, "w.py")
    here.write_rows([{"is_last": True}, {"is_last": False}])
    here.batch("--order", "done", environ={}, target="w.py:end")
    assert [line["index"] for line in here.read_results()] == [1, 0]


def test_two_runs_do_not_share_a_file(here: BatchWorkplace) -> None:
    here.write_program("import time\ndef wait(seconds: float):\n    time.sleep(seconds)\n", "w.py")
    here.write_rows([{"seconds": 600}])
    first = here.start(environ={}, target="w.py:wait")
    try:
        state = Path("out.jsonl.batch/state.sqlite3-wal")
        wait_until(lambda: state.exists() and state.stat().st_size > 4096)
        printed = here.batch(environ={}, target="w.py:wait", code=2)
        assert "another process works on out.jsonl.batch" in printed
        printed = here.batch("--fresh", environ={}, target="w.py:wait", code=2)
        assert "another process works on out.jsonl.batch" in printed
    finally:
        first.kill()
        first.communicate(timeout=HANG_SECONDS)


def test_state_is_for_its_user_alone(here: BatchWorkplace) -> None:
    here.write_program(PLAIN, "plain.py")
    here.write_rows([{"value": 1}])
    here.batch(environ={}, target="plain.py:echo")
    assert Path("out.jsonl.batch").stat().st_mode & 0o077 == 0
    assert Path("out.jsonl.batch/state.sqlite3").stat().st_mode & 0o077 == 0


def test_executors_without_their_package_say_what_to_install(
    here: BatchWorkplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    here.write_program(PLAIN, "plain.py")
    here.write_rows([{"value": 1}])
    printed = here.batch("--executor", "ray", environ={}, target="plain.py:echo", code=2)
    assert 'pip install "njpy[ray]"' in printed


def test_ray_gives_the_same_results(here: BatchWorkplace) -> None:
    if not THOROUGH:
        pytest.skip("starting Ray takes long")
    pytest.importorskip("ray")
    here.write_program(PLAIN, "plain.py")
    here.write_rows({"value": number} for number in range(4))
    with open_executor("ray", str(here.folder / "plain.py:echo"), jobs=1) as submit:
        lines = [submit(row, None).result(timeout=60).line for row in read_rows(Path("rows.jsonl"))]
    assert [json.loads(line)["result"] for line in lines] == [0, 1, 2, 3]
