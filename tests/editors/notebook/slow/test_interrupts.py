"""Interrupting a cell, by a signal and by a message: variables are as Python leaves them, and the next cell runs."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import pytest
from kernels import KERNEL, kernels  # noqa: F401

from loopback import Hang, Loopback

jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")
pytest.importorskip("openai")

SECONDS = 90
REACHED = "the code runs"
"""What code prints that a cell is to be interrupted in."""


@dataclass(frozen=True)
class Interrupted:
    """A cell, how it ends when it is interrupted, and what an expression is in the cell after it.

    `replies` is a list of scripted replies as Python; without it, a server is asked that does not answer.
    """

    replies: str | None
    cell: str
    error: str
    expression: str
    value: str
    undone: str = ""
    """The value after contained code, if that differs: what interrupted code has changed is put back."""


CHANGE = f"seen.append({{}})\\nprint('{REACHED}', flush=True)\\n"
"""What code does before it goes on for ever: it is interrupted at the print, so the change stands before it."""

ENDLESS = f'[run("{CHANGE.format(0)}while True:\\n    seen.append(len(seen))")]'
WAITING = f'[run("{CHANGE.format(1)}import time; time.sleep(600)")]'
AWAITING = f'[run("{CHANGE.format(1)}import asyncio; await asyncio.sleep(600)")]'
BLOCK = '"""natural\n{0}Append <n> to <seen>.\n{0}"""'
AT_TOP_LEVEL = f"n = 1\n{BLOCK.format('')}\nn = 2"
IN_FUNCTION = f"""\
def change():
    global n
    try:
        n = 1
        {BLOCK.format("        ")}
        n = 2
    finally:
        log.append("finally")
"""
IN_COROUTINE = "async " + IN_FUNCTION

CELLS = {
    "the model is awaited": Interrupted(
        None, AT_TOP_LEVEL, "KeyboardInterrupt", "n, seen", "(1, [])"
    ),
    "the model is awaited, in a function": Interrupted(
        None, IN_FUNCTION + "change()", "KeyboardInterrupt", "n, seen, log", "(1, [], ['finally'])"
    ),
    "the program handles it": Interrupted(
        None,
        f"try:\n    n = 1\n    {BLOCK.format('    ')}\nexcept KeyboardInterrupt:\n    log.append(n)",
        "",
        "log",
        "[1]",
    ),
    "the code never ends": Interrupted(
        ENDLESS,
        AT_TOP_LEVEL,
        "KeyboardInterrupt",
        "n, len(seen) > 0, seen == list(range(len(seen)))",
        "(1, True, True)",
        "(1, False, True)",
    ),
    "the code sleeps, in a function": Interrupted(
        WAITING,
        IN_FUNCTION + "change()",
        "KeyboardInterrupt",
        "n, seen, log",
        "(1, [1], ['finally'])",
        "(1, [], ['finally'])",
    ),
    "a coroutine awaits the model": Interrupted(
        None,
        IN_COROUTINE + "await change()",
        "CancelledError",
        "n, seen, log",
        "(1, [], ['finally'])",
    ),
    "a coroutine awaits the code": Interrupted(
        AWAITING,
        IN_COROUTINE + "await change()",
        "CancelledError",
        "n, seen, log",
        "(1, [1], ['finally'])",
        "(1, [], ['finally'])",
    ),
    "one of two coroutines has ended": Interrupted(
        "[run('seen.append(0)', done=True), *" + AWAITING + "]",
        IN_COROUTINE + "import asyncio\nawait asyncio.gather(change(), change())",
        "CancelledError",
        "n, seen, log",
        "(1, [0, 1], ['finally', 'finally'])",
        "(1, [0], ['finally', 'finally'])",
    ),
}

SETUP = """
%load_ext njc
%njpy on
import njrt, os
from njrt.testing import Scripted, run
os.environ |= {{"OPENAI_API_KEY": "none", "NJC_BASE_URL": "{url}/v1"}}
"""


class Kernel:
    """A kernel and its client."""

    def __init__(self) -> None:
        self.manager: Any = jupyter_client.KernelManager(kernel_name=KERNEL)
        self.manager.start_kernel()
        self.client: Any = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=SECONDS)

    def end(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, text: str, is_reached: Callable[[str], bool] | None = None) -> dict[str, str]:
        """Run a cell; interrupt it when what it has printed says that it is where it is to be interrupted."""
        shown = {"stdout": "", "stderr": ""}
        request, deadline = self.client.execute(text), time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if is_reached is not None and is_reached(shown["stdout"]):
                is_reached = None
                self.manager.interrupt_kernel()
            try:
                message = self.client.get_iopub_msg(timeout=0.02)
            except queue.Empty:
                continue
            content = message["content"]
            if message["parent_header"].get("msg_id") != request:
                continue
            match message["msg_type"]:
                case "stream":
                    shown[content["name"]] += content["text"]
                case "error":
                    shown["error"] = content["ename"]
                case "execute_result":
                    shown["value"] = content["data"]["text/plain"]
                case "status" if content["execution_state"] == "idle":
                    return shown
        raise TimeoutError(f"the cell did not end: {text}\n{shown}")


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    """Yield a model that does not answer."""
    with Loopback([Hang()] * (len(CELLS) * 2)) as opened:
        yield opened


@pytest.fixture(scope="module")
def kernel(kernels: None, server: Loopback) -> Iterator[Kernel]:  # noqa: F811
    started = Kernel()
    assert started.run(SETUP.format(url=server.url)) == {"stdout": "", "stderr": ""}
    yield started
    started.end()


@pytest.mark.parametrize(
    ("case", "interrupt_mode"), list(zip(CELLS.values(), cycle(["signal", "message"]))), ids=CELLS
)
def test_an_interrupted_cell(
    kernel: Kernel, server: Loopback, case: Interrupted, interrupt_mode: str, policy: str
) -> None:
    kernel.manager.kernel_spec.interrupt_mode = interrupt_mode
    asked = len(server.seen)
    model = '"openai/local"' if case.replies is None else f"Scripted({case.replies})"
    using = f'%njpy using policy="{policy}", max_seconds=600, model='
    assert "error" not in kernel.run(using + model)
    kernel.run("n, seen, log = 0, [], []")

    def is_reached(printed: str) -> bool:
        return REACHED in printed or len(server.seen) > asked

    shown = kernel.run(case.cell, is_reached)
    assert shown.get("error", "") == case.error, shown
    value = case.undone if policy == "contained" and case.undone else case.value
    assert kernel.run(case.expression).get("value") == value
    assert "failed" in kernel.run("%njpy trace")["stdout"]
    kernel.run(using + "Scripted([run('seen.append(n)', done=True)])")
    after = kernel.run(f"n, seen = 7, []\n{BLOCK.format('')}\nseen")
    assert after.get("value") == "[7]", after
