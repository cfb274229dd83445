"""Runs programs with one of the libraries, in its environment: a job a line on stdin, a result a line on stdout.

    {"path": "/tmp/x/recursion.py"}                                  ──>   {"value": "['note 0', 'note 1']"}
    {"path": "/tmp/x/cost.py", "size": 100, "repeats": 5}            ──>   {"wall": [...], "cpu": [...]}
    {"count": ["a text", "another"]}                                 ──>   {"tokens": [2, 1]}

It uses the standard library and the library that its argument names, and nothing else of this repository. Model and
server come from the environment: OPENAI_BASE_URL, OPENAI_API_KEY.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

MODEL = "gpt-4.1"


def start_njpy() -> Callable[[], Any]:
    """Programs were compiled before: only the runtime is imported."""
    import njrt

    return lambda: njrt.using(model=f"openai/{MODEL}", cache=False, policy="guarded")


def start_nightjarpy() -> Callable[[], Any]:
    """`CONFIG` is for the decorator: the defaults, without the cache and without the limit of 100 effects a process."""
    import nightjarpy

    config = nightjarpy.DEFAULT_CONFIG.with_llm_updates(model=f"openai/{MODEL}", cache=False)
    sys.modules["peer_settings"] = settings = ModuleType("peer_settings")
    settings.nj = nightjarpy  # type: ignore[attr-defined]
    settings.CONFIG = config.with_interpreter_updates(max_effects=10**9)  # type: ignore[attr-defined]
    return contextlib.nullcontext


def start_nighthawk() -> Callable[[], Any]:
    """One executor for the process, as its quickstart has it."""
    import nighthawk

    configuration = nighthawk.StepExecutorConfiguration(model=f"openai-chat:{MODEL}")
    executor = nighthawk.AgentStepExecutor.from_configuration(configuration=configuration)
    return lambda: nighthawk.run(executor)


START = {
    "njpy": start_njpy,
    "nightjarpy": start_nightjarpy,
    "nighthawk": start_nighthawk,
}


def load(path: Path) -> ModuleType:
    """Import a file under the name of the file."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    return module


def time_calls(module: ModuleType, size: int, repeats: int) -> dict[str, list[float]]:
    """Seconds of each call of `count` on so many objects: on the clock, and of the processor in this process.

    One that takes long is not repeated.
    """
    orders = module.make(size)
    wall: list[float] = []
    cpu: list[float] = []
    while len(cpu) < repeats and sum(wall) < 30:
        began, began_cpu = time.perf_counter(), time.process_time()
        assert module.count(orders) == 3
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - began_cpu)
    return {"wall": wall, "cpu": cpu}


def do_job(job: dict[str, Any], using: Callable[[], Any]) -> dict[str, Any]:
    """Carry out one job; an exception of the program is a result too."""
    if "count" in job:
        import tiktoken

        encoding = tiktoken.get_encoding("o200k_base")
        return {"tokens": [len(encoding.encode(text)) for text in job["count"]]}
    try:
        with using():
            module = load(Path(job["path"]))
            if "size" in job:
                return time_calls(module, job["size"], job["repeats"])
            return {"value": repr(module.check())}
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}


def main() -> None:
    # What the library prints must not come between the results.
    results, sys.stdout = sys.stdout, sys.stderr
    using = START[sys.argv[1]]()
    for line in sys.stdin:
        print(json.dumps(do_job(json.loads(line), using)), file=results, flush=True)


if __name__ == "__main__":
    main()
