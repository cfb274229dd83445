"""Runs cases against the guard, each in a child process, and says what they reached: for test_guard_cases.py.

python guard_runner.py POLICY FOLDER < cases.json > results.json

An audit hook sees every attempt at an effect.
"""

import sys

WATCHED = {
    "os.system",
    "subprocess.Popen",
    "os.posix_spawn",
    "os.exec",
    "os.fork",
    "socket.connect",
    "ctypes.dlopen",
}
attempts: list[str] = []
watching = False
marker = ""


def notice(event: str, arguments: tuple[object, ...]) -> None:
    if watching and (
        event in WATCHED or (event == "open" and arguments[0] in (marker, "/proc/self/environ"))
    ):
        attempts.append(event)


sys.addaudithook(notice)  # before all imports: Python calls hooks in the order of their age

import ast  # noqa: E402
import asyncio  # noqa: E402
import contextlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import subprocess  # noqa: E402  (an attack finds its classes loaded)
from dataclasses import replace  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from playing import FailedCode, Refused, concluded  # noqa: E402

from njrt.execution.execute import Snippet, aexecute, prepare  # noqa: E402
from njrt.execution.scope.opening import make_scope  # noqa: E402

assert subprocess
SECRET_NAME, SECRET = "NJRT_TEST_SECRET", "k3ep-th1s"


async def run_case(source: str, policy: Any) -> tuple[str, str]:
    """Run one case as a block of a program would; its result, and what the model is told or the value."""
    global watching

    class Order:
        """An object of the program."""

        __qualname__ = "Order"

        def __init__(self) -> None:
            self.name = "tea"
            self._price = 2

        def total(self) -> int:
            return self._price

    order = Order()

    def describe(x: object) -> str:
        return str(x)

    out: object
    subprocess: object

    async def block() -> object:
        nonlocal out, subprocess
        variables = lambda: (order, describe, out, subprocess)  # noqa: E731
        scope = make_scope(variables, writes="out subprocess", at="case.njpy:1")
        is_bare = policy == "boundary"  # contained code without the checks of the guard before it
        snippet = prepare(source, scope, is_async=True, policy="open" if is_bare else policy)
        if not isinstance(snippet, Snippet):
            raise Refused(snippet.message)
        if is_bare:
            return concluded(await aexecute(replace(snippet, is_contained=True), seconds=3))
        return concluded(await aexecute(snippet))

    watching = True
    try:
        value = await asyncio.wait_for(block(), 0.5 if policy == "open" else 5)
        result, text = "ran", repr(value)
    except Refused as error:
        result, text = "refused", str(error)
    except FailedCode as error:
        result, text = "failed", str(error)
    except BaseException as error:
        result, text = "raised", repr(error)
    watching = False
    with contextlib.suppress(NameError):
        text += f"\n{out!r}"
    return result, text


def run_in_child(source: str, policy: str) -> dict[str, Any]:
    """Run a case in a fork, so that what it breaks is broken there only."""
    receiver, sender = os.pipe()
    if (child := os.fork()) == 0:
        signal.alarm(20)
        os.dup2(2, 1)  # what a case prints is no part of the results
        os.close(receiver)
        result, text = asyncio.run(run_case(source, policy))
        with os.fdopen(sender, "w") as stream:
            stream.write(repr({"result": result, "text": text, "attempts": attempts}))
            stream.flush()
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver) as stream:
        report = stream.read()
    os.waitpid(child, 0)
    outcome = ast.literal_eval(report) if report else {"result": "died", "text": "", "attempts": []}
    return add_effects(outcome)


def run_here(source: str, policy: str) -> dict[str, Any]:
    """Run a case in this process: contained code can break nothing in it."""
    attempts.clear()
    result, text = asyncio.run(run_case(source, policy))
    return add_effects({"result": result, "text": text, "attempts": list(attempts)})


def add_effects(outcome: dict[str, Any]) -> dict[str, Any]:
    """Add what the case has brought about."""
    outcome["secret"] = SECRET in outcome["text"]
    outcome["fired"] = Path(marker).exists()
    Path(marker).unlink(missing_ok=True)
    return outcome


def main() -> None:
    global marker
    policy, folder = sys.argv[1:]
    marker = os.path.join(folder, "marker")
    os.environ[SECRET_NAME] = SECRET
    words = {
        "COMMAND": f"echo fired > {marker}",
        "MARKER": marker,
        "SECRET_NAME": SECRET_NAME,
        "CHANGED": SECRET,
    }
    results = []
    run = run_here if policy in ("boundary", "contained") else run_in_child
    if run is run_here:
        run("out = 1", policy)  # starts the server, which is no attempt of a case
    for source in json.load(sys.stdin):
        for word, value in words.items():
            source = source.replace(word, repr(value))
        results.append(run(source, policy))
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
