"""Kills a program again and again while its workflows run, and checks that nothing is asked or done twice.

    PYTHONPATH=tests/servers python tests/durable/kills.py --kills 1000 [--state build/durable-kills.json] [--store postgres] [--scenario gather]

The workflows are those of scenarios.py. Each run is a fork of this process; it counts its events (a block began, a request, a reply,
a decision, before and after a payment, before and after a step is written to the database and before that is committed, ...) and
kills itself with SIGKILL at a random one of them, at once or a moment later. After each kill:

    no request is made whose reply was stored before, no decision is asked that was stored, no payment is made twice

and when a workflow has ended, its result and all payments are those of a run that nobody killed. With `--state` the
counts are kept in a file, and a later call goes on. The last line says what was done; the exit status is 1 for a violation.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy
from polling import poll_often
from scenarios import SCENARIOS, Scenario, World, compile_program

import services
from njrt.observability.listeners import add_listener

RUN_SECONDS = 120.0
POSTGRES_SHARE = 0.3


@dataclass
class Counts:
    """What has been done so far."""

    kills: int = 0
    workflows: int = 0
    runs: int = 0
    stored_steps_replayed: int = 0
    violations: int = 0
    kills_by: dict[str, dict[str, int]] = field(default_factory=dict)
    """By scenario, store and event."""

    def count_kill(self, **labels: str) -> None:
        """Add a kill."""
        self.kills += 1
        for name, label in labels.items():
            counted = self.kills_by.setdefault(name, {})
            counted[label] = counted.get(label, 0) + 1

    def check(self, is_right: bool, what: str) -> None:
        """Count a violation."""
        if not is_right:
            self.violations += 1
            print(f"wrong: {what}", file=sys.stderr, flush=True)


# --- the run that is killed

ANY = "any"
EventNumber = tuple[str, int]
"""A kind of events, or any, and which of them."""
NEVER = (ANY, 0)


class Killer:
    """Counts the events of this process, and kills it at one of them (state: the counts)."""

    def __init__(self, folder: Path, kill_at: EventNumber, pause: float | None) -> None:
        self._folder, self._kill_at, self._pause = folder, kill_at, pause
        self._lock = threading.Lock()
        self.seen: Counter[str] = Counter()

    def report(self, kind: str) -> None:
        with self._lock:
            self.seen.update([kind, ANY])
            if self._kill_at not in {(kind, self.seen[kind]), (ANY, self.seen[ANY])}:
                return
            (self._folder / "killed").write_text(kind)
        if self._pause is None:
            os.kill(os.getpid(), signal.SIGKILL)
        threading.Thread(target=self._kill_later).start()

    def _kill_later(self) -> None:
        time.sleep(self._pause or 0)
        os.kill(os.getpid(), signal.SIGKILL)


def report_storing(killer: Killer) -> None:
    """Report what DBOS writes of steps and workflows."""

    def is_step(statement: str) -> bool:
        start = statement.lstrip()[:200]
        return start.startswith(("INSERT", "UPDATE")) and "workflow_inputs" not in start

    def before(connection: Any, _c: Any, statement: str, *_: Any) -> None:
        if is_step(statement):
            connection.info["writes"] = True
            killer.report("before write")

    def after(_connection: Any, _c: Any, statement: str, *_: Any) -> None:
        if is_step(statement):
            killer.report("written")

    def commit(connection: Any) -> None:
        if connection.info.pop("writes", False):
            killer.report("commit")

    engine = sqlalchemy.engine.Engine
    sqlalchemy.event.listen(engine, "before_cursor_execute", before)
    sqlalchemy.event.listen(engine, "after_cursor_execute", after)
    sqlalchemy.event.listen(engine, "commit", commit)


def start_run(scenario: Scenario, world: World, killer: Killer) -> int:
    """Fork a run; give its process id."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.alarm(int(RUN_SECONDS))  # no run stays for ever
        poll_often()
        add_listener(lambda event: killer.report(type(event).__name__))
        report_storing(killer)
        result = scenario.run(world)
        (world.folder / "events").write_text(json.dumps(killer.seen))
        # Other tests in this process may have imported a file whose name is not Unicode.
        (world.folder / "modules").write_text("\n".join(sys.modules), errors="replace")
        world.log("results", json.dumps(result))
        code = 0
    except BaseException:
        (world.folder / "error").write_text(traceback.format_exc())
    finally:
        os._exit(code)


# --- the process that looks after it


def run_once(
    scenario: Scenario, world: World, kill_at: EventNumber, pause: float | None
) -> str | None:
    """Run a workflow until it ends or is killed; give the event at which it was killed."""
    killer = Killer(world.folder, kill_at, pause)
    world = World(world.folder, world.url, world.identity, killer.report)
    status = os.waitstatus_to_exitcode(os.waitpid(start_run(scenario, world, killer), 0)[1])
    if status == -signal.SIGKILL:
        return (world.folder / "killed").read_text()
    if status:
        error = world.folder / "error"
        raise RuntimeError(error.read_text() if error.exists() else f"exit status {status}")
    return None


@dataclass(frozen=True)
class StoredSteps:
    """What the database has of a workflow and those in it."""

    replies: frozenset[str]
    decisions: int


def read_stored(world: World) -> StoredSteps:
    """Return the digests of the stored replies, and the number of stored decisions."""
    url = world.url.replace("postgresql://", "postgresql+psycopg://")
    if url.startswith("sqlite") and not Path(url.removeprefix("sqlite:///")).exists():
        return StoredSteps(frozenset(), 0)
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    schema = "" if url.startswith("sqlite") else "dbos."
    with engine.connect() as connection:
        tables = sqlalchemy.inspect(connection).get_table_names(schema=schema.rstrip(".") or None)
        if "operation_outputs" not in tables:
            return StoredSteps(frozenset(), 0)
        query = (
            f"SELECT function_name, output FROM {schema}operation_outputs "
            "WHERE output IS NOT NULL AND workflow_uuid LIKE :like"
        )
        found = connection.execute(sqlalchemy.text(query), {"like": f"{world.identity}%"})
        rows = [(row[0], row[1]) for row in found]
    engine.dispose()
    replies = [json.loads(text) for name, text in rows if name.startswith("model call")]
    keys = frozenset(json.loads(reply)["key"] for reply in replies)
    return StoredSteps(keys, sum(name.startswith("decision decide") for name, _ in rows))


def settle_one(
    scenario: Scenario,
    world: World,
    pick: random.Random,
    counts: Counts,
    events: dict[str, int],
    stops: float,
) -> None:
    """Run one workflow to its end, killing it on the way, and count what is wrong."""
    name, store = world.identity.split("-")[0], world.url.split(":")[0]
    kills_left = pick.randint(4, 16)
    while not world.read("results"):
        before = read_stored(world)
        asked, decided = len(world.read("asked")), len(world.read("decided"))
        may_kill = kills_left > 0 and time.monotonic() < stops
        kill_at = pick_event(pick, events) if may_kill else NEVER
        pause = None if pick.random() < 0.7 else pick.uniform(0, 0.005)
        killed = run_once(scenario, world, kill_at, pause)
        counts.runs += 1
        counts.stored_steps_replayed += len(before.replies) + before.decisions
        if killed is not None:
            kills_left -= 1
            counts.count_kill(scenario=name, store=store, event=killed)
        again = before.replies & set(world.read("asked")[asked:])
        counts.check(not again, f"{world.identity}: a stored reply was asked again")
        new = len(world.read("decided")) - decided
        stored = read_stored(world).decisions
        counts.check(
            before.decisions + new <= stored + scenario.parallel,
            f"{world.identity}: a stored decision was asked again",
        )
    paid = sorted(line.split(maxsplit=1)[1] for line in world.read("paid"))
    counts.check(paid == sorted(scenario.paid), f"{world.identity}: paid {paid}")
    result = json.loads(world.read("results")[0])
    counts.check(result == scenario.result, f"{world.identity}: the result is {result}")
    counts.workflows += 1


def pick_event(pick: random.Random, events: dict[str, int]) -> EventNumber:
    """Return any event, or, so that there are enough of the rare ones, one of a kind."""
    kind = ANY if pick.random() < 0.5 else pick.choice(sorted(events))
    return kind, pick.randint(1, events[kind])


def count_events(scenario: Scenario, world: World) -> dict[str, int]:
    """How many events of each kind a run has that nobody kills."""
    run_once(scenario, world, NEVER, None)
    result = json.loads(world.read("results")[0])
    assert result == scenario.result, result
    for name in world.read("modules"):
        if name.startswith(("njrt.", "dbos.", "sqlalchemy.", "sqlite3", "psycopg")):
            importlib.import_module(name)  # once, before the forks
    events: dict[str, int] = json.loads((world.folder / "events").read_text())
    return events


def do_nothing(_: str) -> None:
    """A world that reports to nobody."""


def kill_many(chosen: argparse.Namespace, counts: Counts, parent: Path, postgres: str) -> None:
    """Run workflows until enough kills are done."""
    stops = time.monotonic() + chosen.seconds
    events: dict[str, dict[str, int]] = {}
    while counts.kills < chosen.kills and time.monotonic() < stops:
        number = f"{chosen.seed}-{counts.workflows}"
        pick = random.Random(number)
        names = chosen.scenario or list(SCENARIOS)
        name = names[counts.workflows % len(names)]
        is_postgres = postgres and (chosen.store == "postgres" or pick.random() < POSTGRES_SHARE)
        for identity in (f"{name}-{number}-whole", f"{name}-{number}-killed"):
            folder = parent / identity
            folder.mkdir()
            url = postgres if is_postgres else f"sqlite:///{folder}/workflows.sqlite3"
            world = World(folder, url, identity, do_nothing)
            if "killed" in identity:
                settle_one(SCENARIOS[name], world, pick, counts, events[name], stops)
            elif name not in events:
                events[name] = count_events(SCENARIOS[name], world)
            shutil.rmtree(folder)
        if chosen.state:
            chosen.state.parent.mkdir(parents=True, exist_ok=True)
            chosen.state.write_text(json.dumps(asdict(counts)) + "\n")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000, help="kills in all")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, help="keep the counts in this file, and go on")
    parser.add_argument("--store", choices=["sqlite", "postgres", "both"], default="both")
    parser.add_argument("--scenario", action="append", choices=list(SCENARIOS))
    chosen = parser.parse_args(arguments)
    counts = Counts()
    if chosen.state and chosen.state.exists():
        counts = Counts(**json.loads(chosen.state.read_text()))
    compile_program()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server is stopped
    uses_postgres = chosen.store != "sqlite" and services.find_postgres()
    with contextlib.ExitStack() as stack:
        parent = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="njc-kills-")))
        server = stack.enter_context(services.start_postgres()) if uses_postgres else None
        kill_many(chosen, counts, parent, server.url if server else "")
    print(json.dumps(asdict(counts)))
    return 1 if counts.violations else 0


if __name__ == "__main__":
    sys.exit(main())
