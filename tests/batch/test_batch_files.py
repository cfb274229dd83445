"""`njc batch`: the files that it reads and writes, what has changed when it goes on, and rows that end processes."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from batch_workplace import BatchWorkplace, expect, reply
from computed_server import ComputedServer

from batch_servers import OpenAIBatchServer
from waiting import wait_until

pytest.importorskip("openai")

PLAIN = """\
import asyncio
import os
import sys
from pathlib import Path

import njrt


def echo(value):
    if value == "interrupt":
        raise KeyboardInterrupt("now")
    if value == "cancel":
        raise asyncio.CancelledError
    if value == "base":
        raise BaseException("odd")
    if value == "move":
        os.mkdir("inner")
        os.chdir("inner")
    if value == "die":
        os._exit(9)
    return value


async def echo_later(value):
    async def end():
        sys.exit(value)
    if value == "task":
        asyncio.ensure_future(end())
        await asyncio.sleep(0)
    if value == "cancelled":
        asyncio.current_task().cancel()
        await asyncio.sleep(0)
    return echo(value)


def look(photo: njrt.Image, others: list[njrt.Image | None] = []):
    return [photo.media_type, *(other and other.url for other in others)]


def wait(name: str, seconds: float):
    import time
    Path(name).write_text(str(os.getpid()))
    time.sleep(seconds)
    return name
"""

PNG = b"\x89PNG\r\n\x1a\n0000"


def write_values(here: BatchWorkplace, *values: Any) -> None:
    here.write_program(PLAIN, "plain.py")
    here.write_rows({"value": value} for value in values)


def echo(here: BatchWorkplace, *arguments: str, code: int = 0, target: str = "echo") -> str:
    return here.batch(*arguments, environ={}, target=f"plain.py:{target}", code=code)


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def link_rows() -> None:
    Path("out.jsonl").hardlink_to("rows.jsonl")


def link_to_rows() -> None:
    Path("out.jsonl").symlink_to("rows.jsonl")


def link_to_program() -> None:
    Path("out.jsonl").symlink_to("plain.py")


def pipe_out() -> None:
    os.mkfifo("out.jsonl")


def device_out() -> None:
    Path("out.jsonl").symlink_to("/dev/null")


def pipe_rows() -> None:
    Path("rows.jsonl").unlink()
    os.mkfifo("rows.jsonl")


def file_as_state() -> None:
    Path("out.jsonl.batch").write_text("mine")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (link_rows, "out.jsonl is an input of this command"),
        (link_to_rows, "rows.jsonl is an input of this command"),
        (link_to_program, "plain.py is an input of this command"),
        (pipe_out, "out.jsonl is not a regular file"),
        (device_out, "out.jsonl is not a regular file"),
        (pipe_rows, "rows.jsonl is not a regular file"),
        (file_as_state, "cannot open out.jsonl.batch"),
    ],
)
@pytest.mark.parametrize("fresh", [True, False])
def test_files_that_cannot_be_used_are_refused_and_kept(
    here: BatchWorkplace, prepare: Callable[[], None], message: str, fresh: bool
) -> None:
    write_values(here, 1)
    prepare()
    before = list_files(here)
    assert message in echo(here, *(["--fresh"] if fresh else []), code=2)
    assert list_files(here) == before


def list_files(here: BatchWorkplace) -> dict[str, int]:
    """Return the inode of each file by its name, without the code that Python compiles when it imports the program."""
    return {it.name: it.lstat().st_ino for it in here.folder.iterdir() if it.name != "__pycache__"}


def test_a_link_to_a_file_of_results_stays_a_link(here: BatchWorkplace) -> None:
    write_values(here, 1)
    Path("there.jsonl").touch()
    Path("out.jsonl").symlink_to("there.jsonl")
    echo(here, "--fresh")
    assert Path("out.jsonl").is_symlink()
    assert json.loads(Path("there.jsonl").read_text())["result"] == 1


def test_estimates_and_refused_batches_leave_nothing_behind(here: BatchWorkplace) -> None:
    """A file that exists does not become the file of the batch."""
    write_values(here, 1)
    Path("out.jsonl").write_text("mine\n")
    before = list_files(here)
    echo(here, "--estimate")
    assert "--fresh overwrites it" in echo(here, code=2)
    assert (Path("out.jsonl").read_text(), list_files(here)) == ("mine\n", before)


def test_fresh_leaves_files_of_others(here: BatchWorkplace) -> None:
    write_values(here, 1)
    echo(here)
    Path("out.jsonl.batch/notes.txt").write_text("mine")
    Path("out.jsonl.batch/state.sqlite3").write_bytes(b"damaged" * 1000)
    assert "is damaged" in echo(here, code=2)
    echo(here, "--fresh")
    assert Path("out.jsonl.batch/notes.txt").read_text() == "mine"
    assert here.read_results()[0]["result"] == 1


@pytest.mark.parametrize("most", [30_000, 90_000])
def test_a_full_disk_stops_the_batch_and_loses_nothing(here: BatchWorkplace, most: int) -> None:
    write_values(here, *("x" * 5_000 for _ in range(20)))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        printed = echo(here, code=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "cannot write out.jsonl" in printed or "cannot use out.jsonl.batch" in printed
    assert not list(here.folder.glob("*.tmp"))
    echo(here)
    assert [len(line["result"]) for line in here.read_results()] == [5_000] * 20


def test_rows_may_name_files(here: BatchWorkplace) -> None:
    here.write_program(PLAIN, "plain.py")
    Path("cat.png").write_bytes(PNG)
    here.write_rows(
        [
            {"photo": "cat.png", "others": [None, "https://example.com/dog.jpg"]},
            {"photo": "data:image/png;base64,iVBORw0KGgo="},
            {"photo": "missing.png"},
            {"photo": {"data": "x"}},
            {"photo": "rows.jsonl"},
        ]
    )
    echo(here, target="look", code=1)
    first, second, *failed = here.read_results()
    assert first["result"] == ["image/png", None, "https://example.com/dog.jpg"]
    assert second["result"] == ["image/png"]
    assert [line["error"]["message"] for line in failed] == [
        "argument `photo`: Value error, cannot read missing.png: No such file or directory",
        "argument `photo`: Value error, should be the path or the URL of a file",
        failed[2]["error"]["message"],
    ]
    assert "cannot tell the type" in failed[2]["error"]["message"]


# ── what has changed ─────────────────────────────────────────────────────────────────────────────


def test_another_program_or_model_is_not_mixed_in(here: BatchWorkplace) -> None:
    write_values(here, 1, "base")
    echo(here, code=1)
    Path("plain.py").write_text(PLAIN.replace("return value\n", "return [value]\n", 1))
    message = "plain.py changed after 2 rows had been called; --retry keeps"
    assert message in echo(here, code=2)
    assert here.read_results()[0]["result"] == 1
    here.write_rows([{"value": 1}, {"value": 2}, {"value": 3}])
    assert message in echo(here, code=2)
    assert "1 rows with changed text" in echo(here, "--retry")
    assert [line["result"] for line in here.read_results()] == [1, 2, 3]
    echo(here)
    here.batch(environ={"NJC_MODE": "static"}, target="plain.py:echo")
    other = {"NJC_MODEL": "openai/gpt-4.1-mini"}
    printed = here.batch(environ=other, target="plain.py:echo", code=2)
    assert "error: NJC_MODEL changed after 3 rows" in printed
    other = {"NJC_MAX_REPLY_TOKENS": "5"}
    printed = here.batch(environ=other, target="plain.py:echo", code=2)
    assert "error: an option of the environment changed after 3 rows" in printed
    Path("pyproject.toml").write_text('[tool.njc]\nmodel = "openai/gpt-4.1-mini"\n')
    assert "error: an option of the project changed after 3 rows" in echo(here, code=2)
    echo(here, "--retry")


def test_the_old_result_of_a_changed_row_is_not_shown(here: BatchWorkplace) -> None:
    write_values(here, 1, 2, 3)
    echo(here)
    write_values(here, 1, "two", 3, 4)
    Path("plain.py").write_text(PLAIN)
    printed = echo(here, "--rows", "1")
    assert "calling again for 1 rows with changed text" in printed
    assert [line["index"] for line in here.read_results()] == [0, 2]
    echo(here)
    assert [line["result"] for line in here.read_results()] == [1, "two", 3, 4]
    write_values(here, 1)
    echo(here)
    assert [line["result"] for line in here.read_results()] == [1]


def test_a_failed_row_that_is_no_longer_there_does_not_fail_the_batch(here: BatchWorkplace) -> None:
    write_values(here, 1, "base")
    echo(here, code=1)
    write_values(here, 1)
    echo(here)


def test_the_state_of_an_earlier_version_is_continued(here: BatchWorkplace) -> None:
    write_values(here, 1)
    echo(here)
    with closing(sqlite3.connect("out.jsonl.batch/state.sqlite3")) as state:
        state.executescript(
            "ALTER TABLE replies DROP COLUMN form; ALTER TABLE requests DROP COLUMN form; "
            "ALTER TABLE waiting DROP COLUMN wave; PRAGMA user_version = 1"
        )
    write_values(here, 1, 2)
    echo(here)
    assert [line["result"] for line in here.read_results()] == [1, 2]


def test_an_upgrade_of_the_state_is_made_as_a_whole(here: BatchWorkplace) -> None:
    write_values(here, 1)
    echo(here)
    with closing(sqlite3.connect("out.jsonl.batch/state.sqlite3")) as state:
        state.executescript(
            "ALTER TABLE replies DROP COLUMN form; ALTER TABLE requests DROP COLUMN form; "
            "PRAGMA user_version = 1"
        )
    assert "duplicate column name: wave" in echo(here, code=2)
    with closing(sqlite3.connect("out.jsonl.batch/state.sqlite3")) as state:
        state.execute("ALTER TABLE waiting DROP COLUMN wave")
    echo(here)


def test_a_program_may_change_the_working_directory(here: BatchWorkplace) -> None:
    write_values(here, 1, "move", 2)
    printed = echo(here)
    assert f"written: {here.folder / 'out.jsonl'}" in printed
    assert [line["result"] for line in here.read_results()] == [1, "move", 2]


def test_equal_rows_are_rows_of_their_own(here: BatchWorkplace) -> None:
    write_values(here, "same", "same", "same")
    echo(here)
    assert [(line["index"], line["result"]) for line in here.read_results()] == [
        (0, "same"), (1, "same"), (2, "same")
    ]  # fmt: skip


def test_what_a_stopped_row_has_cost_is_counted(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows({"mail": f"mail {number}"} for number in range(12))
    with ComputedServer() as server:
        printed = here.batch("--max-usd", "0.03", environ=server.environment, code=3)
        assert len(server.seen) > 2 * len(here.read_results())
        assert f"{len(server.seen)} model calls" in printed
        printed = here.batch("--max-usd", "9", environ=server.environment)
        assert f"{len(server.seen)} model calls" in printed


def test_requests_of_rows_that_are_gone_are_not_sent(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows({"mail": f"mail {number}"} for number in range(6))
    flags = ("--vendor-batch", "openai", "--poll", "0.01")
    with OpenAIBatchServer(reply) as server:
        environ = {**server.environment, "NJC_MODEL": "openai/gpt-4.1"}
        printed = here.batch(*flags, "--max-usd", "0.006", environ=environ, code=3)
        assert "nothing was sent" in printed
        here.write_rows({"mail": f"mail {number}"} for number in range(2))
        here.batch(*flags, environ=environ)
    assert [line["result"] for line in here.read_results()] == [expect(0), expect(1)]
    assert sum(server.asked.values()) == 6 + 2


# ── rows that end processes ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("target", "values"),
    [
        ("echo", ["interrupt", "cancel", "base"]),
        ("echo_later", ["interrupt", "cancel", "base", "cancelled"]),
    ],
)
def test_a_row_may_raise_anything(here: BatchWorkplace, target: str, values: list[str]) -> None:
    write_values(here, *values, "last")
    echo(here, target=target, code=1)
    *failed, last = here.read_results()
    assert [line["error"]["type"] for line in failed] == [
        {"interrupt": "KeyboardInterrupt", "base": "BaseException"}.get(value, "CancelledError")
        for value in values
    ]
    assert last["result"] == "last"


def test_a_task_that_ends_the_event_loop_does_not_stop_the_batch(here: BatchWorkplace) -> None:
    write_values(here, "task", "task", "last")
    echo(here, target="echo_later")
    assert [line["result"] for line in here.read_results()] == ["task", "task", "last"]


def test_a_row_that_kills_its_process_is_a_failed_row(here: BatchWorkplace) -> None:
    write_values(here, 1, "die", 2)
    echo(here, "--executor", "processes", "-j", "1", code=1)
    first, dead, last = here.read_results()
    assert (first["result"], last["result"]) == (1, 2)
    assert dead["error"]["type"] == "DeadProcessError"


def test_processes_end_with_a_command_that_was_killed(here: BatchWorkplace) -> None:
    here.write_program(PLAIN, "plain.py")
    here.write_rows({"name": name, "seconds": 90} for name in "ab")
    flags = ("--executor", "processes", "-j", "1")
    process = here.start(*flags, environ={}, target="plain.py:wait")
    try:
        wait_until(lambda: Path("a").exists() and Path("a").read_text() != "")
        worker = int(Path("a").read_text())
    finally:
        process.kill()
        process.communicate(timeout=60)
    wait_until(lambda: not is_running(worker))
    assert not Path("b").exists(), "a row was called whose result nobody takes"


def is_running(process: int) -> bool:
    """Return whether there is a process; one that has ended and is not waited for does not count."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


@pytest.mark.parametrize(
    ("number", "seconds", "done"),
    [(signal.SIGINT, 90, ["a"]), (signal.SIGTERM, 0.5, ["a", "b"])],
)
def test_an_interrupt_waits_for_calls_under_way_and_a_second_one_does_not(
    here: BatchWorkplace, number: int, seconds: float, done: list[str]
) -> None:
    here.write_program(PLAIN, "plain.py")
    here.write_rows({"name": name, "seconds": seconds * (name != "a")} for name in "abc")
    process = here.start("-j", "1", environ={}, target="plain.py:wait")
    try:
        wait_until(Path("b").exists)
        process.send_signal(number)
        if seconds > 60:
            assert process.stderr is not None
            assert "waiting for 1 calls" in process.stderr.readline()
            process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 130, errors
    assert "interrupted; the same command continues" in errors
    assert [line["result"] for line in here.read_results()] == done


def test_reasons_and_lines_of_failed_rows_are_in_the_summary(here: BatchWorkplace) -> None:
    here.write_program("def halve(n: int) -> float:\n    return 10 / n\n")
    rows = ['{"n": 1}', "", '{"n": 0}', '{"n": 2', "", "", *(['{"n": 0}'] * 6)]
    here.write_rows(rows)
    printed = here.batch(environ={}, target="prog.njpy:halve", code=1)
    assert "7 failed, line 3, 7, 8, 9, 10, ...: ZeroDivisionError: division by zero" in printed
    assert "1 failed, line 4: InvalidRowError: not JSON: " in printed
    lines = {line["index"]: line.get("line") for line in here.read_results()}
    assert lines == {0: None, 1: 3, 2: 4} | {index: index + 4 for index in range(3, 9)}


def test_a_fresh_estimate_is_of_all_rows_and_discards_nothing(here: BatchWorkplace) -> None:
    here.write_program("def halve(n: int) -> float:\n    return 10 / n\n")
    here.write_rows([{"n": 1}, {"n": 2}])
    here.batch(environ={}, target="prog.njpy:halve")
    estimate = ("--estimate", "--fresh")
    assert "2 rows, 0 of them done" in here.batch(*estimate, environ={}, target="prog.njpy:halve")
    assert "2 rows, 2 of them done" in here.batch(
        "--estimate", environ={}, target="prog.njpy:halve"
    )
