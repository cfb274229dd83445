"""docs/comparison.md: its cases are what Python demands, njpy does it, and the page says what was measured."""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import peer_report
from measure_peers import TRANSLATORS, judge, measure, measure_costs, run_case
from peer_cases import OTHERS, SUBJECTS, Case, decorate, parse_case, read_cases, strip_decorators
from peer_environments import LIBRARIES, Library, NotInstalled, run
from peer_server import NotOffered, PeerServer
from peer_worker_process import Worker

CASES = [*read_cases(*SUBJECTS), *read_cases("positions")]
RESULTS = {"right", "error", "different", "not offered"}
LINES = peer_report.read_lines()

# ── The cases ────────────────────────────────────────────────────────────────────────────────────


def test_there_are_forty_cases_from_the_reference_and_no_name_twice() -> None:
    semantic = list(read_cases(*SUBJECTS))
    assert len(semantic) == 40
    assert len({case.name for case in semantic}) == 40
    assert all(case.rule[0].isdigit() for case in semantic)


class Replaced(ast.NodeTransformer):
    """The program with each block replaced by the statements of the turn that it is at."""

    def __init__(self, turns: tuple[str, ...]) -> None:
        self.turns = turns

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        match node.value:
            case ast.Constant(str(text)) if text.startswith("natural\n"):
                pass
            case ast.JoinedStr([ast.Constant(str(text)), *_]) if text.startswith("natural\n"):
                pass
            case _:
                return node
        # The jumps of a turn act here: `match` is no loop and no function.
        choices = "\n".join(f" case {n}:\n  {turn}" for n, turn in enumerate(self.turns))
        (statement,) = compile(
            f"match next(_turns):\n{choices}", "turns", "exec", ast.PyCF_ONLY_AST
        ).body
        return statement


def run_as_python(case: Case) -> str:
    """What `check()` returns where Python itself does what the model decides."""
    tree = Replaced(case.turns).visit(ast.parse(strip_decorators(case.program)))
    names: dict[str, Any] = {"__name__": case.name, "_turns": itertools.count()}
    exec(compile(ast.fix_missing_locations(tree), case.name, "exec"), names)
    return repr(names["check"]())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_result_of_a_case_is_that_of_python(case: Case) -> None:
    gives = run_as_python(case)
    if case.delay:  # how much others get done meanwhile is not a matter of the statements
        gives = gives.replace("False", "True")
    assert gives == case.gives


@pytest.fixture(scope="module")
def server() -> Iterator[PeerServer]:
    with PeerServer() as server:
        yield server


@pytest.fixture(scope="module")
def worker(server: PeerServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """Yield one process for all cases, with the njpy of this checkout."""
    folder = tmp_path_factory.mktemp("worker")
    with Worker(Path(sys.executable), "njpy", server, folder) as worker:
        yield worker


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_njpy_does_what_python_demands(
    case: Case, worker: Worker, server: PeerServer, tmp_path: Path
) -> None:
    line = run_case(case, LIBRARIES["njpy"], worker, server, tmp_path)
    assert (line["result"], line["detail"]) == ("right", "")
    assert len(server.asked) == len(case.turns)  # one call a block


@pytest.mark.parametrize("case", [*read_cases("choices")], ids=lambda case: case.name)
def test_njpy_chooses_as_was_measured(
    case: Case, worker: Worker, server: PeerServer, tmp_path: Path
) -> None:
    line = run_case(case, LIBRARIES["njpy"], worker, server, tmp_path)
    measured = {
        found["name"]: found["result"]
        for found in LINES
        if found["kind"] == "case" and (found["subject"], found["library"]) == ("choices", "njpy")
    }
    assert line["result"] == measured[case.name], line["detail"]


# ── The parts of the measurement ─────────────────────────────────────────────────────────────────


def tell(library: str, turn: str, **body: Any) -> list[Any]:
    """Return the replies of a protocol to one block: the text of each, or its calls."""
    messages = [reply(body).body["choices"][0]["message"] for reply in TRANSLATORS[library](turn)]
    return [
        message["content"]
        or [(c["function"]["name"], c["function"]["arguments"]) for c in message["tool_calls"]]
        for message in messages
    ]


@pytest.mark.parametrize(
    ("library", "turn", "told"),
    [
        ("njpy", "x = 1; break", [[("run", '{"code": "x = 1; break", "done": true}')]]),
        ("nightjarpy", "pass", [[("done", "{}")]]),
        ("nightjarpy", "x = 1", [[("exec", '{"code": "x = 1"}')], [("done", "{}")]]),
        ("nightjarpy", "continue", [[("continue", "{}")]]),
        (
            "nightjarpy",
            "return x",
            [[("exec", '{"code": "returned = x"}')], [("return", '{"variable": "returned"}')]],
        ),
        (
            "nighthawk",
            "x = 1; y.sort(); break",
            [
                [
                    ("nh_assign", '{"target_path": "x", "expression": "1"}'),
                    ("nh_eval", '{"expression": "y.sort()"}'),
                ],
                [("final_result", '{"result": {"kind": "break"}}')],
            ],
        ),
        (
            "nighthawk",
            "return x + 1",
            [[("final_result", '{"result": {"kind": "return", "return_expression": "x + 1"}}')]],
        ),
    ],
)
def test_a_turn_is_told_in_the_protocol_of_a_library(
    library: str, turn: str, told: list[Any]
) -> None:
    assert tell(library, turn, tools=[{}]) == told


@pytest.mark.parametrize(
    ("turn", "object_"),
    [
        ("x = 1; y = [2]", '{"x": 1, "y": [2]}'),
        ("pass", '{"pass": true}'),
        ("continue", '{"continue": true}'),
        ("return 'a'", '{"return": "a"}'),
        ("raise ValueError('no')", '{"raise": "ValueError", "message": "no"}'),
    ],
)
def test_a_block_without_code_is_told_an_object(turn: str, object_: str) -> None:
    assert tell("njpy", turn) == [object_]


@pytest.mark.parametrize("turn", ["del x", "x.y = 1", "raise error", "x: int = 1"])
def test_what_a_protocol_has_no_form_for_is_not_offered(turn: str) -> None:
    with pytest.raises(NotOffered):
        TRANSLATORS["nighthawk"](turn)


@pytest.mark.parametrize(
    ("program", "written"),
    [
        ("@natural\ndef f(): ...\n", ["@it\ndef f(): ...\n"]),
        (
            "@cache\n@natural\ndef f(): ...\n",
            ["@cache\n@it\ndef f(): ...\n", "@it\n@cache\ndef f(): ...\n"],
        ),
        (
            "def make():\n    @natural_inner\n    def f(): ...\n",
            ["def make():\n    @it\n    def f(): ...\n", "@it\ndef make():\n    def f(): ...\n"],
        ),
    ],
)
def test_a_program_is_decorated_in_each_way(program: str, written: list[str]) -> None:
    assert decorate(program, "@it") == written


def test_a_worker_outlives_what_programs_do(server: PeerServer, tmp_path: Path) -> None:
    programs = {
        "hangs": "while True: pass",
        "dies": "import os; os._exit(3)",
        "fails": "1 / 0",
        "exits": "raise SystemExit('bye')",
        "prints": "print('between the results')\ndef check(): return 1",
    }
    found = {}
    with Worker(Path(sys.executable), "njpy", server, tmp_path) as worker:
        for name, text in programs.items():
            path = tmp_path / f"{name}_program.py"
            path.write_text(text)
            found[name] = worker.do({"path": str(path)}, 3.0 if name == "hangs" else 60.0)
    assert found["hangs"] == {"error": "no result within 3 s"}
    assert set(found["dies"]) == {"error"}
    assert found["fails"]["error"].startswith("ZeroDivisionError")
    assert found["exits"]["error"] == "SystemExit: bye"
    assert found["prints"] == {"value": "1"}


def test_a_library_that_cannot_be_installed_is_left_out_with_the_reason(
    server: PeerServer, tmp_path: Path
) -> None:
    absent = Library("absent", ("9.9",), ("nothing",), "njpy", "nothing")
    (line,) = measure([absent], server, tmp_path)
    assert line == {"kind": "failed", "library": "absent", "why": "Python 9.9 was not found"}


def test_the_reason_of_a_failed_command_is_its_error() -> None:
    complaint = "print('notice'); raise SystemExit('ERROR: No matching distribution found for x')"
    with pytest.raises(NotInstalled, match=r"^ERROR: No matching distribution found for x$"):
        run(sys.executable, "-c", complaint)


def test_a_block_of_njpy_costs_the_same_for_many_objects(
    worker: Worker, server: PeerServer, tmp_path: Path
) -> None:
    few, *more = list(measure_costs(LIBRARIES["njpy"], worker, server, tmp_path))[1:]
    assert all((line["calls"], line["requests"]) == (1, 1) for line in [few, *more])
    assert all(abs(line["bytes"] - few["bytes"]) < 50 for line in more)


def test_results_are_told_apart() -> None:
    case = parse_case("x", "rule: 1\nturn: pass\ngives: 1\ndef check(): ...\n")
    assert judge(case, {"value": "1"}) == ("right", "")
    assert judge(case, {"value": "2"}) == ("different", "2, not 1")
    assert judge(case, {"error": "NameError: x"}) == ("error", "NameError: x")


# ── The page ─────────────────────────────────────────────────────────────────────────────────────


def test_the_page_says_what_was_measured() -> None:
    page = peer_report.PAGE.read_text(encoding="utf-8")
    assert peer_report.fill_page(page, peer_report.write_tables(LINES)) == page


def test_every_case_was_measured_with_every_library() -> None:
    measured = [
        (line["name"], line["library"], line["subject"]) for line in LINES if line["kind"] == "case"
    ]
    blocks = [
        (case.name, library, subject)
        for subject in (*SUBJECTS, *OTHERS)
        for case in read_cases(subject)
        for library in peer_report.COLUMNS
    ]
    assert sorted(measured) == sorted(blocks)
    assert {line["result"] for line in LINES if line["kind"] == "case"} <= RESULTS


def test_a_result_that_is_not_right_has_a_reason() -> None:
    for line in LINES:
        if line["kind"] == "case":
            assert bool(line["detail"]) == (line["result"] != "right"), line
