"""Questions on citation graphs: their answers are right, perfect models pass, what is measured adds up."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from njrt.errors import RejectedRequestError
from njrt.messages import ModelMessage, Reply, Usage
from njrt.testing import Scripted, run
from njrt.values.dataclass_json import from_json, to_json
from paper_model import make_perfect_model
from spsbench.cli import main
from spsbench.results import GraphResult, GraphTrial, StudyEnding
from spsbench.studies.graph_asking import ask_graph_question, format_graph_table, prepare_graph
from spsbench.studies.graph_questions import CitationGraph, build_citation_graph, build_questions
from spsbench.studies.study import StudyLimits

QUESTIONS = ("cite", "publish", "retract", "who", "how many", "leave")


def asking(method: str, question: str = "who", size: int = 50) -> GraphTrial:
    return GraphTrial(size, method, "scripted", 1, question)


def edges_of(graph: CitationGraph) -> set[tuple[int, int]]:
    return {(citing, cited) for cited, papers in graph.edges.items() for citing in papers}


@pytest.mark.parametrize("size", [10, 11, 100, 1000])
def test_a_graph_has_as_many_papers_as_asked_each_citing_older_ones(size: int) -> None:
    graph = build_citation_graph(size)
    edges = edges_of(graph)
    assert graph == build_citation_graph(size)
    assert graph.nodes == frozenset(range(size))
    assert all(cited < citing for citing, cited in edges)
    assert all(1 <= sum(citing == paper for citing, _ in edges) <= 3 for paper in range(1, size))


def test_a_graph_is_not_too_small_for_its_questions() -> None:
    with pytest.raises(ValueError, match="a graph has 10 papers or more, not 9"):
        build_citation_graph(9)


@pytest.mark.parametrize("size", [10, 77, 1000])
def test_the_answers_are_those_of_the_graph(size: int) -> None:
    graph = build_citation_graph(size)
    edges, questions = edges_of(graph), build_questions(graph)
    cited = int(questions["who"].queries[0].rstrip("?").split()[-1])
    assert questions["who"].responses == ({citing for citing, other in edges if other == cited},)
    newest = size - 1
    assert questions["how many"].responses == (sum(citing == newest for citing, _ in edges),)
    (added,) = edges_of(questions["cite"].left) - edges
    assert added[1] == cited
    assert edges_of(questions["publish"].left) - edges == {(size, cited)}
    (gone,) = graph.nodes - questions["retract"].left.nodes
    assert edges_of(questions["retract"].left) == {edge for edge in edges if gone not in edge}
    assert questions["leave"].left == graph


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("method", ["manual", "shared-python", "nightjar", "direct"])
@pytest.mark.parametrize("size", [10, 300])
def test_a_perfect_model_is_right_by_copy_and_on_shared_state(
    size: int, method: str, question: str
) -> None:
    asked = ask_graph_question(asking(method, question, size), None, StudyLimits())
    assert (asked.passed, asked.ending, asked.error) == (True, "finished", None)
    assert asked.calls >= 1
    assert asked.effects == (0 if method == "manual" else asked.calls)


@pytest.mark.parametrize("question", QUESTIONS)
def test_without_python_a_perfect_model_copies_a_small_graph_by_reference(question: str) -> None:
    _, questions = prepare_graph(10)
    model = make_perfect_model(questions[question].perfect, "baseline")
    assert ask_graph_question(asking("baseline", question, size=10), model, StudyLimits()).passed


@pytest.mark.parametrize("method", ["manual", "direct"])
def test_a_wrong_graph_fails(method: str) -> None:
    said = {"finished": False, "update": None, "response": None}
    wrong = Scripted(
        lambda request: (
            ModelMessage(json.dumps(said))
            if method == "manual"
            else run("response = None", done=True)
        )
    )
    asked = ask_graph_question(asking(method, "cite"), wrong, StudyLimits())
    assert (asked.passed, asked.ending) == (False, "finished")


def test_the_copied_prompt_grows_with_the_graph_and_the_shared_one_does_not() -> None:
    chars = {
        (method, size): ask_graph_question(
            asking(method, size=size), None, StudyLimits()
        ).prompt_chars
        for method in ("manual", "direct")
        for size in (100, 10_000)
    }
    assert chars["manual", 10_000] > 50 * chars["manual", 100]
    assert chars["direct", 10_000] < 1.1 * chars["direct", 100]


def test_a_prompt_that_is_too_long_is_not_sent() -> None:
    model = Scripted([])
    asked = ask_graph_question(asking("manual", size=1000), model, StudyLimits(context=1000))
    assert (asked.passed, asked.ending, asked.calls) == (False, "too long", 0)
    assert model.requests == []
    assert asked.prompt_chars > 20_000


def test_a_prompt_that_the_server_finds_too_long_is_told_apart_from_other_errors() -> None:
    too_long = Scripted([RejectedRequestError("400: the context has 4096 tokens")])
    assert ask_graph_question(asking("manual"), too_long, StudyLimits()).ending == "too long"
    refused = ask_graph_question(
        asking("manual"), Scripted([RejectedRequestError("400: no such field")]), StudyLimits()
    )
    assert refused.ending == "raised"
    assert refused.error == "RejectedRequestError: 400: no such field"


def test_tokens_and_the_model_s_time_are_counted_apart_from_ours() -> None:
    code = build_questions(build_citation_graph(50))["who"].perfect.code[0]
    usage = Usage(input=700, output=30, cached=600, usd=0.25)
    reply = Reply(ModelMessage("", (run(code, done=True),)), usage=usage, source="model")
    took = ask_graph_question(asking("direct"), Scripted([reply], delay=0.2), StudyLimits())
    assert (took.input_tokens, took.cached_tokens, took.output_tokens, took.cost) == (
        (700, 600, 30, 0.25)
    )
    assert took.model_seconds >= 0.2
    assert took.seconds == pytest.approx(took.model_seconds + took.own_seconds, abs=1e-4)
    assert took.own_seconds < took.model_seconds


def test_a_result_is_written_and_read_back() -> None:
    asked = ask_graph_question(asking("direct"), None, StudyLimits())
    assert from_json(to_json(asked), GraphResult) == asked


def test_a_study_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "graph.jsonl"
    flags = ["graph", "--sizes", "10", "--methods", "manual,direct", "--out", str(path)]
    first = CliRunner().invoke(main, [*flags, "--questions", "who,cite"])
    assert first.exit_code == 0, first.output
    lines = path.read_bytes()
    assert lines.count(b"\n") == 4
    path.write_bytes(b"\n" + lines[:-20])
    again = CliRunner().invoke(main, [*flags, "--questions", "who,cite"])
    assert again.exit_code == 0, again.output
    kept = path.read_text().splitlines()
    assert kept[0] == ""
    assert [json.loads(line)["kind"] for line in kept[1:]] == ["graph"] * 4
    assert again.stderr.count("right") == 1
    assert again.stdout.splitlines()[2].split()[:4] == ["10", "manual", "2", "100%"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [("{", "not JSON"), ('{"kind": "graph"}', "graph.seconds: Field required")],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "graph.jsonl"
    path.write_text(line + "\n")
    ended = CliRunner().invoke(main, ["graph", "--sizes", "10", "--out", str(path)])
    assert ended.exit_code == 2
    assert f"Error: {path}: line 1 of the results is damaged ({reason}" in ended.output


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--sizes", "9"], "a graph has 10 papers or more"),
        (["--sizes", "ten"], "invalid literal"),
        (["--methods", "static"], "there is no method that passes a graph `static`"),
        (["--questions", "whom"], "did you mean `who`?"),
        (["--model", "nobody/here", "--sizes", "10"], "no vendor is known for model `nobody/here`"),
    ],
)
def test_mistakes_in_the_flags_are_told(flags: list[str], words: str) -> None:
    told = CliRunner().invoke(main, ["graph", *flags])
    assert told.exit_code != 0
    assert words in told.output


def test_the_table_leaves_out_of_its_means_what_was_never_sent() -> None:
    def asked(question: str, calls: int) -> GraphResult:
        ending: StudyEnding = "finished" if calls else "too long"
        return GraphResult(
            **asdict(asking("manual", question)),
            seconds=2.0,
            model_seconds=1.5,
            own_seconds=0.5,
            calls=calls,
            effects=0,
            input_tokens=1000 * calls,
            cached_tokens=0,
            output_tokens=10,
            prompt_chars=99,
            cost=None,
            passed=bool(calls),
            ending=ending,
            error=None,
            started="2026-03-01T09:30:00Z",
        )

    row = format_graph_table([asked("who", 1), asked("cite", 0)]).splitlines()[2].split()
    assert row[:7] == ["50", "manual", "2", "50%", "1", "1.0", "0.0"]
    assert row[7] == "1,000"
    assert "-" in format_graph_table([asked("cite", 0)]).splitlines()[2].split()
