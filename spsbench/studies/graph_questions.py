"""Citation graphs of any size, each with six questions with known answers.

    graph = build_citation_graph(1000)           1000 papers, each citing up to three older ones
    build_questions(graph)["who"].queries        ("Which papers cite paper 500?",)

The graph grows with the number of papers, but the work for a question does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spsbench.script import CaseScript

MIN_PAPERS = 10
MAX_CITED = 3
HASH_MULTIPLIER = 2654435761
"""Knuth's multiplier, which scatters the numbers of the cited papers evenly."""

Edges = Mapping[int, frozenset[int]]
Response = Any
"""The program's response to a query: a number, a set of papers, None."""


@dataclass(frozen=True, slots=True)
class CitationGraph:
    """Papers, and for each cited paper the papers that cite it."""

    nodes: frozenset[int]
    edges: Edges


@dataclass(frozen=True, slots=True)
class GraphQuestion:
    """Queries to run on a fresh graph, the right responses, and a perfect model's replies."""

    name: str
    queries: tuple[str, ...]
    responses: tuple[Response, ...]
    left: CitationGraph
    """The graph after the queries."""
    perfect: CaseScript

    def holds(self, responses: list[Response], nodes: set[int], edges: dict[int, set[int]]) -> bool:
        """Return whether the responses and the graph are right."""
        cited = {paper: frozenset(citing) for paper, citing in edges.items() if citing}
        return (
            tuple(responses) == self.responses
            and frozenset(nodes) == self.left.nodes
            and cited == self.left.edges
        )


def build_citation_graph(size: int) -> CitationGraph:
    """Return a graph with `size` papers; each but the first cites one to three older papers."""
    if size < MIN_PAPERS:
        raise ValueError(f"a graph has {MIN_PAPERS} papers or more, not {size}")
    citing: dict[int, set[int]] = {}
    for paper in range(1, size):
        for cited in {
            (paper * HASH_MULTIPLIER * (way + 1) >> 7) % paper for way in range(MAX_CITED)
        }:
            citing.setdefault(cited, set()).add(paper)
    return CitationGraph(
        frozenset(range(size)), {paper: frozenset(papers) for paper, papers in citing.items()}
    )


def build_questions(graph: CitationGraph) -> dict[str, GraphQuestion]:
    """Return the six questions on a graph by name; they are about papers in its middle."""
    size = len(graph.nodes)
    cited = min(
        (paper for paper, citing in graph.edges.items() if len(citing) > 1),
        key=lambda paper: (abs(paper - size // 2), paper),
    )
    gone = min(graph.edges, key=lambda paper: (abs(paper - size // 3), paper))
    newest = size - 1
    other = next(paper for paper in range(newest, 0, -1) if paper not in graph.edges[cited])
    cites = sum(newest in citing for citing in graph.edges.values())
    asked = (
        make_question(
            "cite",
            f"Update the graph so that paper {other} cites paper {cited}.",
            f"graph.edges[{cited}].add({other})\nresponse = None",
            add_citation(graph, other, cited),
        ),
        make_question(
            "publish",
            f"A new paper has come out, number {size}. It cites paper {cited} only.",
            f"graph.nodes.add({size})\ngraph.edges[{cited}].add({size})\nresponse = None",
            add_citation(graph, size, cited),
        ),
        make_question(
            "retract",
            f"Paper {gone} was retracted, take it out of the graph altogether.",
            f"graph.nodes.discard({gone})\ngraph.edges.pop({gone}, None)\n"
            f"for citing in graph.edges.values():\n    citing.discard({gone})\nresponse = None",
            remove_paper(graph, gone),
        ),
        make_question(
            "who",
            f"Which papers cite paper {cited}?",
            f"response = set(graph.edges[{cited}])",
            graph,
            set(graph.edges[cited]),
        ),
        make_question(
            "how many",
            f"How many papers does paper {newest} cite?",
            f"response = sum({newest} in citing for citing in graph.edges.values())",
            graph,
            cites,
        ),
        GraphQuestion(
            "leave",
            ("That is all for today, thank you!", f"Paper {other} cites paper {cited} as well."),
            (),
            graph,
            CaseScript((make_manual_answer(finished=True),), ("break",)),
        ),
    )
    return {question.name: question for question in asked}


def make_question(
    name: str, query: str, code: str, left: CitationGraph, response: Response = None
) -> GraphQuestion:
    """Return a question whose query has an answer or, without a `response`, changes the graph."""
    if response is None:
        edges = sorted(left.edges.items())
        listed = [{"cited": paper, "citing": sorted(citing)} for paper, citing in edges]
        answer = make_manual_answer(update={"nodes": sorted(left.nodes), "edges": listed})
    else:
        sent = sorted(response) if isinstance(response, set) else response
        answer = make_manual_answer(response=sent)
    return GraphQuestion(name, (query,), (response,), left, CaseScript((answer,), (code,)))


def make_manual_answer(**parts: Any) -> dict[str, Any]:
    """Return a perfect model's answer to the manual program."""
    return {"finished": False, "update": None, "response": None} | parts


def add_citation(graph: CitationGraph, citing: int, cited: int) -> CitationGraph:
    """Return the graph with one more citation, possibly by a new paper."""
    edges = {**graph.edges, cited: graph.edges.get(cited, frozenset()) | {citing}}
    return CitationGraph(graph.nodes | {citing}, edges)


def remove_paper(graph: CitationGraph, paper: int) -> CitationGraph:
    """Return the graph without a paper and its citations in both directions."""
    kept = {cited: citing - {paper} for cited, citing in graph.edges.items() if cited != paper}
    edges = {cited: citing for cited, citing in kept.items() if citing}
    return CitationGraph(graph.nodes - {paper}, edges)
