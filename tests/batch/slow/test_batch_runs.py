"""`njc batch` with a server: interrupted and killed runs, a cluster, limits, a progress bar."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from batch_workplace import BatchWorkplace, expect, finish, reply

from loopback import Answer, Raw, Seen, Status
from openai_server import OpenAIServer, says
from waiting import HANG_SECONDS, wait_until

pytest.importorskip("openai")


@pytest.fixture
def here(here: BatchWorkplace) -> BatchWorkplace:
    """Return a directory with the program that sorts mails."""
    here.write_program()
    return here


class ComputedServer(OpenAIServer):
    """Answers every request by its text; after `limit` requests the key is revoked."""

    def __init__(self, delay: float = 0.0, limit: int | None = None) -> None:
        super().__init__()
        self.delay, self.limit, self.is_down = delay, limit, False

    def answer_without_script(self, seen: Seen) -> Any:
        if self.is_down:
            return Raw("{}", status=503, headers={"retry-after-ms": "1"})
        if self.limit is not None and len(self.seen) > self.limit:
            return Status(401, body={"error": {"message": "the key was revoked"}})
        return Answer(says(reply(seen.body)).body, after=self.delay)

    @property
    def environment(self) -> dict[str, str]:
        return {"OPENAI_API_KEY": str(self.key), "OPENAI_BASE_URL": self.base_url}

    def count_requests(self) -> Counter[str]:
        """Return how often each request came."""
        return Counter(json.dumps(seen.body, sort_keys=True) for seen in self.seen)


def check_results(here: BatchWorkplace, numbers: range) -> None:
    results = here.read_results()
    assert [line["result"] for line in results] == [expect(number) for number in numbers]
    assert all(line["usage"]["calls"] == 2 for line in results)
    assert not Path("out.jsonl.replies.jsonl").exists()


# ── runs that are not disturbed ──────────────────────────────────────────────────────────────────


def test_rows_are_called_at_the_same_time(here: BatchWorkplace) -> None:
    here.write_mails(*range(8))
    with ComputedServer(delay=0.5) as server:
        began = time.monotonic()
        printed = here.run("-j", "8", environ=server.environment)
        assert time.monotonic() - began < 8 + HANG_SECONDS / 4
        most = max(sum(each.at <= seen.at < each.at + 0.5 for each in server.seen) for seen in server.seen)  # fmt: skip
    assert 2 < most <= 8
    check_results(here, range(8))
    assert "8 rows, 0 failed, 16,320 tokens, $0.0202; written: out.jsonl" in printed
    assert "\r" not in printed, "no progress bar in a pipe"


def test_async_functions_run_at_the_same_time(here: BatchWorkplace) -> None:
    here.write_rows({"first": f"mail {n}", "second": f"mail {n + 100}"} for n in range(4))
    with ComputedServer() as server:
        here.run(environ=server.environment, target="prog.njpy:sort_both")
    wanted = [[f"k{number}", f"k{number + 100}"] for number in range(4)]
    assert [line["result"] for line in here.read_results()] == wanted


def test_a_server_without_a_price_has_tokens_only(here: BatchWorkplace) -> None:
    here.write_mails(1)
    with ComputedServer() as server:
        environ = {
            "NJC_BASE_URL": server.base_url,
            "NJC_API_KEY": str(server.key),
            "NJC_MODEL": "gpt-4.1",
        }
        assert "2,040 tokens, price unknown" in here.run(environ=environ)
        refused = here.run("--retry", "--max-usd", "1", environ=environ)
        assert "1 row, 0 failed" in refused, "nothing is left to call"
        here.write_mails(2)
        assert "price" in here.run("--max-usd", "1", environ=environ, code=3)


# ── what ends a batch ────────────────────────────────────────────────────────────────────────────


def test_a_revoked_key_stops_the_batch_and_fails_no_row(here: BatchWorkplace) -> None:
    here.write_mails(*range(20))
    with ComputedServer(limit=12) as server:
        printed = here.run("-j", "1", environ=server.environment, code=3)
        assert "6 rows, 0 failed" in printed
        assert [line["result"] for line in here.read_results()] == [expect(n) for n in range(6)]
        server.limit = None
        here.run(environ=server.environment)
        asked = len(server.seen)
    check_results(here, range(20))
    assert asked <= 40 + 2, "done rows were asked again"


def test_rows_that_an_outage_has_failed_are_called_again(here: BatchWorkplace) -> None:
    here.write_mails(*range(5))
    with ComputedServer() as server:
        server.is_down = True
        printed = here.run("-j", "5", environ=server.environment, code=1)
        assert "5 rows, 5 failed" in printed
        assert {line["error"]["type"] for line in here.read_results()} == {"ServerError"}
        assert {line["error"]["place"] for line in here.read_results()} == {"prog.njpy:5"}
        server.is_down = False
        here.run("--retry", environ=server.environment)
    check_results(here, range(5))


@pytest.mark.parametrize("result", [None, ""])
def test_without_a_model_nothing_is_written(here: BatchWorkplace, result: str | None) -> None:
    here.write_mails(1)
    out = here.folder / "out.jsonl"
    if result is not None:
        out.write_text(result)
    printed = here.run(environ={"NJC_MODEL": ""}, code=2)
    assert "no model is configured" in printed
    assert (out.read_text() if out.exists() else None) == result
    assert not (here.folder / "out.jsonl.replies.jsonl").exists()


@pytest.mark.parametrize("executor", [(), ("--executor", "dask")])
def test_the_cost_is_limited(here: BatchWorkplace, executor: tuple[str, ...]) -> None:
    here.write_mails(*range(12))
    with ComputedServer() as server:
        limited = ("--max-usd", "0.012", "-j", "1")
        printed = here.run(*limited, *executor, environ=server.environment, code=3)
        assert "`--max-usd`" in printed
        done = len(here.read_results())
        assert 0 < done < 12
        assert all("result" in line for line in here.read_results())
        here.run(*limited, environ=server.environment, code=3)
        assert len(here.read_results()) <= done + 1, "the cost before counts"
        here.run("--max-usd", "1", "-j", "2", *executor, environ=server.environment)
    check_results(here, range(12))


def test_a_budget_of_all_rows_stops_the_batch(here: BatchWorkplace) -> None:
    here.write_mails(*range(4))
    with ComputedServer() as server:
        budget = {"NJC_BUDGET": "tokens=0 per=day", "NJC_STORE": str(here.folder / "store")}
        printed = here.run("-j", "1", environ=server.environment | budget, code=3)
        assert server.seen == []
    assert "the budget `tokens=0 per=day` is spent" in printed
    assert not (here.folder / "out.jsonl").exists()


# ── interrupts and kills ─────────────────────────────────────────────────────────────────────────


def test_an_interrupt_waits_for_calls_under_way(here: BatchWorkplace) -> None:
    here.write_mails(*range(9))
    with ComputedServer(delay=1.0) as server:
        process = here.start("-j", "3", environ=server.environment)
        wait_until(lambda: len(server.seen) >= 3)
        process.send_signal(signal.SIGINT)
        printed = finish(process, code=130)
        assert "interrupted; the same command continues" in printed
        assert sorted(line["row"] for line in here.read_results()) == [1, 2, 3]
        here.run(environ=server.environment)
        assert set(server.count_requests().values()) == {1}, "no request was made twice"
    check_results(here, range(9))


def test_a_second_interrupt_does_not_wait(here: BatchWorkplace) -> None:
    program = "import time\nfrom pathlib import Path\n\ndef wait(value):\n    Path(f'{value}').touch()\n    time.sleep(600)\n"
    here.write_program(program, "plain.py")
    here.write_rows([{"value": 1}])
    process = here.start(environ={}, target="plain.py:wait")
    wait_until(lambda: Path("1").exists())
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    finish(process, code=130)


def kill_at_random(
    here: BatchWorkplace, server: ComputedServer, pick: random.Random, *flags: str
) -> bool:
    """Kill a run at any moment after some new requests; whether it was still running."""
    enough = len(server.seen) + pick.randint(1, 9)
    process = here.start("-j", "3", *flags, environ=server.environment)
    wait_until(lambda: len(server.seen) >= enough or process.poll() is not None)
    time.sleep(pick.uniform(0, 0.1))
    is_running = process.poll() is None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=HANG_SECONDS)
    time.sleep(0.15)  # the server answers requests whose client is gone
    return is_running


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(2))
def test_a_killed_row_pays_again_only_for_the_reply_on_its_way(
    here: BatchWorkplace, seed: int
) -> None:
    pick, jobs, kills = random.Random(seed), 3, 0
    here.write_mails(*range(12))
    with ComputedServer(delay=0.1) as server:
        while kill_at_random(here, server, pick):
            kills += 1
        here.run(environ=server.environment)
        repeated = sum(times - 1 for times in server.count_requests().values())
    check_results(here, range(12))
    assert kills >= 2
    assert repeated <= jobs * kills, f"{repeated} requests were made again after {kills} kills"


# ── a cluster ────────────────────────────────────────────────────────────────────────────────────


def list_workers(process: subprocess.Popen[str]) -> list[int]:
    """Return the processes of a local cluster's workers."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pid,pgid,args"], capture_output=True, text=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()[1:]]
    return [int(pid) for pid, group, text in rows if int(group) == process.pid and "spawn_main" in text]  # fmt: skip


@pytest.mark.timeout(400)
def test_a_worker_of_a_cluster_that_is_killed_fails_its_row_alone(here: BatchWorkplace) -> None:
    pytest.importorskip("distributed")
    here.write_mails(*range(10))
    with ComputedServer(delay=1.0) as server:
        process = here.start("--executor", "dask", "-j", "2", environ=server.environment)
        wait_until(lambda: len(server.seen) >= 2)
        os.kill(list_workers(process)[-1], signal.SIGKILL)
        server.delay = 0
        finish(process, code=1)
        errors = [line["error"] for line in here.read_results() if "error" in line]
        assert len(here.read_results()) == 10
        assert 1 <= len(errors) <= 2
        assert all(re.search(r"the worker of row \d+ died", each["message"]) for each in errors)
        here.run("--retry", environ=server.environment)
    check_results(here, range(10))


@pytest.mark.timeout(400)
def test_a_killed_cluster_goes_on(here: BatchWorkplace) -> None:
    pytest.importorskip("distributed")
    here.write_mails(*range(8))
    flags = ("--executor", "dask", "-j", "2")
    with ComputedServer(delay=0.3) as server:
        assert kill_at_random(here, server, random.Random(1), *flags)
        here.run(*flags, environ=server.environment)
        repeated = sum(times - 1 for times in server.count_requests().values())
    check_results(here, range(8))
    assert repeated <= 2


@pytest.mark.timeout(400)
def test_an_interrupted_cluster_ends_and_goes_on(here: BatchWorkplace) -> None:
    pytest.importorskip("distributed")
    here.write_mails(*range(6))
    with ComputedServer(delay=1.0) as server:
        process = here.start("--executor", "dask", "-j", "2", environ=server.environment)
        wait_until(lambda: len(server.seen) >= 2)
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C: to the workers too
        finish(process, code=130)
        assert not [line for line in here.read_results() if "error" in line]
        server.delay = 0
        here.run(environ=server.environment)
    check_results(here, range(6))


def test_a_cluster_with_a_scheduler_gets_as_many_rows_at_a_time_as_were_asked_for(
    here: BatchWorkplace,
) -> None:
    distributed = pytest.importorskip("distributed")
    here.write_program(
        "import threading, time\n\nrunning = []\n\n\ndef count(value):\n    running.append(value)\n"
        "    now = len(running)\n    time.sleep(0.05)\n    running.remove(value)\n    return now\n",
        "plain.py",
    )
    here.write_rows({"value": number} for number in range(8))
    options = {"threads_per_worker": 4, "processes": False, "dashboard_address": None}
    with closing(distributed.LocalCluster(n_workers=1, **options)) as cluster:
        flags = ("--executor", "dask", "--scheduler", cluster.scheduler_address, "-j", "2")
        here.batch(*flags, target="plain.py:count")
    assert max(line["result"] for line in here.read_results()) <= 2


def test_a_scheduler_that_is_not_there_is_named(here: BatchWorkplace) -> None:
    pytest.importorskip("distributed")
    here.write_program("def echo(value):\n    return value\n", "plain.py")
    here.write_rows([{"value": 1}])
    environ = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"}
    flags = ("--executor", "dask", "--scheduler", "tcp://127.0.0.1:1")
    printed = here.run(*flags, environ=environ, target="plain.py:echo", code=2)
    assert "error: cannot connect to the scheduler tcp://127.0.0.1:1: " in printed


# ── the progress bar ─────────────────────────────────────────────────────────────────────────────


@contextmanager
def reading_terminal(here: BatchWorkplace, environ: dict[str, str]) -> Iterator[Callable[[], str]]:
    """Start a batch whose errors go to a terminal; yield a function that waits for its end."""
    master, slave = pty.openpty()
    environ = environ | {"TERM": "xterm", "COLUMNS": "120"}
    process = here.start("-j", "1", environ=environ, stderr=slave)
    os.close(slave)

    def finish() -> str:
        shown = b""
        with suppress(OSError):  # the end of a terminal
            while data := os.read(master, 65_536):
                shown += data
        assert process.wait(HANG_SECONDS) == 0, shown.decode()
        return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown.decode())

    try:
        yield finish
    finally:
        process.kill()
        process.communicate()
        os.close(master)


def test_a_terminal_shows_progress(here: BatchWorkplace) -> None:
    here.write_mails(*range(4))
    with (
        ComputedServer(delay=0.3) as server,
        reading_terminal(here, server.environment) as finish,
    ):
        shown = finish()
    assert re.search(r"2 rows, 0 failed, 4,080 tokens, \$0\.0050", shown)
    assert "4 rows, 0 failed, 8,160 tokens, $0.0101; written: out.jsonl" in shown
