"""Kills a program at random again and again while its workflows run, and checks that nothing is asked or done twice.

    python tests/durable/kills.py --kills 1000 [--state build/durable-kills.json] [--seed 1] [--seconds 20]

A workflow settles orders: a natural block for each, whose code calls a function with a block of its own and an effect. Every
event of a run (a block began, a request, a reply, a decision, before and after a payment, ...) is reported to the parent process, which
kills the run with SIGKILL after a random number of them. After each kill:

    no request is made whose reply was stored before, no decision is asked that was stored, no payment is made twice

and when a workflow has ended, its result and all payments are those of a run that nobody killed. With `--state` the
counts are kept in a file, and a later call goes on. The last line says what was done; the exit status is 1 for a violation.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import njrt
from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njrt import durable
from njrt.decisions import Accept, PendingEffect
from njrt.message_json import hash_conversation
from njrt.messages import ModelMessage, Reply, Request, Usage
from njrt.models.scripted import run
from njrt.observability.listeners import add_listener

PROGRAM = '''
# njc: authority=code


def check(order):
    is_payable: bool
    """natural
    Put into <:is_payable> whether <order> may be paid.
    """
    return is_payable


def settle(orders, pay):
    total = 0
    for order in orders:
        """natural
        If <check> allows <order>, <pay> it and add its cents to <:total>, of which <total> has those so far.
        """
    return total
'''

ORDERS = [
    {"id": f"order-{number}", "cents": cents} for number, cents in enumerate([100, 0, 250, 30])
]
TOTAL = 380
SETTLE = """
if check(order):
    pay(order["id"], order["cents"])
    total += order["cents"]
"""
MAX_EVENTS = 60


@dataclass
class Counts:
    """What has been done so far."""

    kills: int = 0
    workflows: int = 0
    runs: int = 0
    stored_steps_replayed: int = 0
    violations: int = 0


class LoggedModel:
    """Answers as it must, and logs each request in a file."""

    name, protocol = "openai/logged", "tools"

    def __init__(self, folder: Path, report: Callable[[], None]) -> None:
        self._folder = folder
        self._report = report

    def ask(self, request: Request) -> Reply:
        append_line(self._folder / "asked", hash_conversation(request.messages))
        self._report()
        text = str(request.messages[0])
        code = 'is_payable = order["cents"] > 0' if "may be paid" in text else SETTLE
        self._report()
        message = ModelMessage("", (run(code, done=True),))
        return Reply(message, usage=Usage(100, 20, 0, 0.001), model="logged")

    async def aask(self, request: Request) -> Reply:
        return self.ask(request)


def append_line(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(line + "\n")


def read_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def run_workflow(folder: Path, identity: str, report: Callable[[], None]) -> int:
    """Run the workflow of a folder from where it is, to its end."""

    def find_payment(key: str) -> str | None:
        return next((line for line in read_lines(folder / "paid") if line.split()[0] == key), None)

    @durable.effect(find=find_payment)
    def pay(order: str, cents: int) -> str:
        report()
        line = f"{durable.effect_key()} {order} {cents}"
        append_line(folder / "paid", line)
        report()
        return line

    def decide(pending: PendingEffect) -> Accept:
        append_line(folder / "decided", f"{pending.place} {pending.effect}")
        report()
        return Accept()

    names: dict[str, Any] = {"__name__": "settling"}
    exec(compile_program(), names)

    @durable.workflow
    def settle_orders(orders: list[dict[str, Any]]) -> int:
        with njrt.using(model=LoggedModel(folder, report), intercept=decide):
            total: int = names["settle"](orders, pay)
        return total

    remove = add_listener(lambda event: report())
    durable.launch(f"sqlite:///{folder}/workflows.sqlite3", executor_id="kills")
    report()
    try:
        with durable.workflow_id(identity):
            return settle_orders(ORDERS)
    finally:
        remove()


_compiled: list[Any] = []


def compile_program() -> Any:
    if not _compiled:
        source = SourceFile("settling.njpy", textwrap.dedent(PROGRAM).encode())
        output = compile_source(source).output
        assert output is not None
        _compiled.append(compile(output, "settling.py", "exec"))
    return _compiled[0]


def start_child(folder: Path, identity: str) -> tuple[int, int]:
    """Fork a run that reports events on a pipe; give its process id and the pipe."""
    readable, writable = os.pipe()
    process = os.fork()
    if process:
        os.close(writable)
        return process, readable
    os.close(readable)
    code = 1
    try:
        result = run_workflow(folder, identity, lambda: os.write(writable, b".") and None)
        append_line(folder / "results", str(result))
        code = 0
    except BaseException:
        import traceback

        (folder / "error").write_text(traceback.format_exc())
    finally:
        os._exit(code)


def run_child(folder: Path, identity: str, kill_at: int, pause: float) -> bool:
    """Run a workflow, and kill it after `kill_at` events and `pause` seconds; return whether it was killed."""
    process, events = start_child(folder, identity)
    seen = 0
    while seen < kill_at:
        got = os.read(events, 1)
        if not got:
            break
        seen += 1
    else:
        time.sleep(pause)
        os.kill(process, signal.SIGKILL)
    os.close(events)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status > 0:
        raise RuntimeError((folder / "error").read_text())
    return status == -signal.SIGKILL


def read_stored(folder: Path) -> tuple[set[str], int]:
    """The digests of the stored replies, and the number of stored decisions."""
    path = folder / "workflows.sqlite3"
    if not path.exists():
        return set(), 0
    with sqlite3.connect(path) as connection:
        query = "SELECT function_name, output FROM operation_outputs WHERE output IS NOT NULL"
        rows = connection.execute(query).fetchall()
    connection.close()
    replies = {
        json.loads(json.loads(text))["key"] for name, text in rows if name.startswith("model call")
    }
    return replies, sum(name.startswith("decision") for name, _ in rows)


def settle_one(
    folder: Path, identity: str, pick: random.Random, counts: Counts, stops: float
) -> None:
    """Run one workflow to its end, killing it on the way, and count what is wrong."""
    kills_left = pick.randint(1, 12)
    while not (folder / "results").exists():
        stored, decided = read_stored(folder)
        asked_before = len(read_lines(folder / "asked"))
        decided_before = len(read_lines(folder / "decided"))
        may_kill = kills_left > 0 and time.monotonic() < stops
        kill_at = pick.randint(1, MAX_EVENTS) if may_kill else 10**9
        killed = run_child(folder, identity, kill_at, pick.uniform(0, 0.003))
        counts.runs += 1
        counts.kills += killed
        kills_left -= killed
        asked = read_lines(folder / "asked")[asked_before:]
        counts.stored_steps_replayed += len(stored) + decided
        check(counts, not stored & set(asked), f"{identity}: a stored reply was asked again")
        new_decisions = len(read_lines(folder / "decided")) - decided_before
        check(
            counts,
            decided + new_decisions <= read_stored(folder)[1] + 1,
            f"{identity}: a stored decision was asked again",
        )
        paid = [line.split()[1] for line in read_lines(folder / "paid")]
        check(counts, len(paid) == len(set(paid)), f"{identity}: an order was paid twice")
    paid_orders = sorted(line.split()[1:] for line in read_lines(folder / "paid"))
    expected = sorted([order["id"], str(order["cents"])] for order in ORDERS if order["cents"])
    check(counts, paid_orders == expected, f"{identity}: paid {paid_orders}")
    results = read_lines(folder / "results")
    check(counts, results == [str(TOTAL)], f"{identity}: the result is {results}")
    counts.workflows += 1


def check(counts: Counts, is_right: bool, what: str) -> None:
    if not is_right:
        counts.violations += 1
        print(f"wrong: {what}", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000, help="kills in all")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--state", type=Path, help="keep the counts in this file, and go on from it"
    )
    chosen = parser.parse_args(arguments)
    counts = Counts()
    if chosen.state and chosen.state.exists():
        counts = Counts(**json.loads(chosen.state.read_text()))
    stops = time.monotonic() + chosen.seconds
    compile_program()
    with tempfile.TemporaryDirectory(prefix="njc-kills-") as parent:
        while counts.kills < chosen.kills and time.monotonic() < stops:
            identity = f"settling-{chosen.seed}-{counts.workflows}"
            folder = Path(parent) / identity
            folder.mkdir()
            pick = random.Random(identity)
            settle_one(folder, identity, pick, counts, stops)
            shutil.rmtree(folder)
            if chosen.state:
                chosen.state.parent.mkdir(parents=True, exist_ok=True)
                chosen.state.write_text(json.dumps(asdict(counts)) + "\n")
    print(json.dumps(asdict(counts)))
    return 1 if counts.violations else 0


if __name__ == "__main__":
    sys.exit(main())
