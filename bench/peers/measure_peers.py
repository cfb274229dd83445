"""njpy and two other libraries side by side: what they take, and what they do with the same programs.

    make bench-peers                                        all of it, without a key; the installations take minutes
    make bench-peers WRITE=1                                also writes the lines and the page docs/comparison.md

Each library is installed into an environment of its own (build/peers), and asks one scripted server on 127.0.0.1 that
speaks its protocol. A library that cannot be installed is left out, with the reason. Times are those of the processor,
the least of several; the server's are not in them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from peer_cases import OTHERS, SUBJECTS, Case, read_cases
from peer_environments import (
    FOLDER,
    LIBRARIES,
    REPEATS,
    Environment,
    Library,
    NotInstalled,
    make_environment,
    measure_environment,
    read_processor_time,
)
from peer_report import (
    COLUMNS,
    LINES,
    PAGE,
    SIZES,
    fill_page,
    write_tables,
)
from peer_server import TRANSLATORS, NotOffered, PeerServer
from peer_worker_process import Worker, write_programs

SECONDS_A_COST = 600.0
COST_PROGRAM = '''
class Order:
    def __init__(self, number):
        self.customer = f"customer {number}"
        self.note = "the parcel has not arrived" if number % 3 else "all is well"

def make(size):
    return [Order(number) for number in range(size)]

@natural
def count(orders):
    total: int = 0
    """natural
    Put into <:total> how many of <orders> have a note that complains.
    """
    return total

def check():
    return count(make(1))
'''
COST_TURN = "total = 3"

Line = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the lines and the page")
    options = parser.parse_args()
    lines: list[Line] = []
    with PeerServer() as server, tempfile.TemporaryDirectory() as folder:
        for line in measure([*LIBRARIES.values()], server, Path(folder)):
            print(json.dumps(line), flush=True)
            lines.append(line)
    failed = [line["library"] for line in lines if line["kind"] == "failed"]
    if failed:
        sys.exit(f"nothing is written: not measured were {', '.join(failed)}")
    tables = write_tables(lines)
    print("\n".join(f"\n{name}\n\n{table}" for name, table in tables.items()))
    if options.write:
        LINES.write_text("".join(json.dumps(line) + "\n" for line in lines))
        PAGE.write_text(fill_page(PAGE.read_text(), tables))


def measure(libraries: list[Library], server: PeerServer, folder: Path) -> Iterator[Line]:
    """Yield what is measured, a line at a time; a library that cannot be installed is one line."""
    environments: dict[str, Environment] = {}
    for library in libraries:
        name = library.name
        try:
            environments[name] = make_environment(library)
            line = measure_environment(environments[name])
        except NotInstalled as error:
            yield {"kind": "failed", "library": name, "why": str(error)}
            continue
        if name != "njpy":
            line["block_ms"] = time_one_block(environments[name], server, folder / name)
        yield {"kind": "environment", "library": name, **line}
    counter = environments.get("nighthawk")
    for name in COLUMNS:
        # Programs of njpy run where only the runtime is installed.
        environment = environments.get("njpy-runtime" if name == "njpy" else name)
        if environment is None:
            continue
        library = LIBRARIES[name]
        with start_worker(environment, server, folder / name) as worker:
            for line in measure_costs(library, worker, server, folder / name):
                tokens = count_tokens(line.pop("texts"), counter, server, folder / "tokens")
                yield {"kind": "cost", "library": name, **line, "tokens": tokens}
            for subject in (*SUBJECTS, *OTHERS):
                for case in read_cases(subject):
                    result = run_case(case, library, worker, server, folder / name / subject)
                    yield {"kind": "case", "subject": subject, "library": name, **result}


def start_worker(environment: Environment, server: PeerServer, folder: Path) -> Worker:
    """The worker of a library. tiktoken takes its tables from LiteLLM, which brings them, or from the network."""
    packages = "nightjarpy/lib/python*/site-packages"
    tables = [
        str(path) for path in FOLDER.glob(f"{packages}/litellm/litellm_core_utils/tokenizers")
    ]
    variables = {"TIKTOKEN_CACHE_DIR": tables[0]} if tables else {}
    return Worker(environment.python, environment.library.speaks, server, folder, **variables)


def time_one_block(environment: Environment, server: PeerServer, folder: Path) -> float:
    """The least processor time of a process that starts and runs one block, in milliseconds."""
    library = environment.library
    path = next(write_programs(library, "cost", COST_PROGRAM, folder))
    times = []
    for _ in range(REPEATS):
        server.play(TRANSLATORS[library.speaks], [COST_TURN])
        before = read_processor_time()
        with start_worker(environment, server, folder) as worker:
            result = worker.do({"path": str(path)}, SECONDS_A_COST)
        times.append(read_processor_time() - before)
        assert result == {"value": "3"}, result
    return round(min(times) * 1000, 1)


def measure_costs(
    library: Library, worker: Worker, server: PeerServer, folder: Path
) -> Iterator[Line]:
    """Yield what one prompt costs that reads a list of so many objects."""
    path = next(write_programs(library, "cost", COST_PROGRAM, folder))
    translate = TRANSLATORS[library.speaks]
    server.play(translate, [COST_TURN])
    worker.do({"path": str(path), "size": 1, "repeats": 1})  # connects, and imports what is lazy
    for size in SIZES:
        server.play(translate, itertools.repeat(COST_TURN))
        job = {"path": str(path), "size": size, "repeats": REPEATS}
        result = worker.do(job, SECONDS_A_COST)
        if "error" in result:
            yield {"objects": size, "error": result["error"], "texts": []}
            continue
        runs = len(result["wall"])
        calls = len(server.asked) // runs
        yield {
            "objects": size,
            "calls": calls,
            "requests": len(server.seen) // runs,
            "bytes": sum(int(seen.headers.get("content-length", 0)) for seen in server.seen)
            // runs,
            "wall_ms": round(min(result["wall"]) * 1000, 1),
            "cpu_ms": round(min(result["cpu"]) * 1000, 1),
            "texts": [write_prompt(body) for body in server.asked[:calls]],
        }


def write_prompt(body: Mapping[str, Any]) -> str:
    """What a model is given to read in one request: the messages and the forms of tools and reply, as JSON."""
    read = ("messages", "tools", "response_format")
    return json.dumps({name: body[name] for name in read if name in body}, ensure_ascii=False)


def count_tokens(
    texts: list[str], environment: Environment | None, server: PeerServer, folder: Path
) -> int | None:
    """Tokens of the encoding o200k_base; None where nothing is installed that counts them."""
    if environment is None or not texts:
        return None
    with start_worker(environment, server, folder) as worker:
        counted = worker.do({"count": texts})
    return sum(counted["tokens"]) if "tokens" in counted else None


def run_case(
    case: Case, library: Library, worker: Worker, server: PeerServer, folder: Path
) -> Line:
    """The best result of the ways in which the program may be written for a library.

    right: what Python demands; error: an exception that says so; different: another result, without a word.
    """
    if case.outside and library.decorator:
        detail = f"a decorator is for functions, not for {case.outside}"
        return {"name": case.name, "result": "not offered", "detail": detail}
    translate = TRANSLATORS[library.speaks]
    found: list[tuple[str, str]] = []
    try:
        for turn in case.turns:
            translate(turn)
        for path in write_programs(library, case.name, case.program, folder):
            server.play(
                translate,
                case.turns,
                delay=case.delay,
                keeps_connections=case.keeps_connections,
            )
            found.append(judge(case, worker.do({"path": str(path)})))
    except NotOffered as error:
        found.append(("not offered", str(error)))
    ranks = ("right", "error", "different", "not offered")
    result, detail = min(found, key=lambda one: ranks.index(one[0]))
    return {"name": case.name, "result": result, "detail": detail}


def judge(case: Case, result: Mapping[str, str]) -> tuple[str, str]:
    """What a result is worth, and why."""
    if "error" in result:
        return "error", result["error"]
    if result["value"] == case.gives:
        return "right", ""
    return "different", f"{result['value']}, not {case.gives}"


if __name__ == "__main__":
    main()
