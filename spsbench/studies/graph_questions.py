"""Citation graphs of any size, and six questions on each whose right answers are known.

    graph = citations(1000)            1000 papers, each citing up to three older ones; always the same graph
    questions = questions_on(graph)    cite, publish, retract, who, how many, leave
    questions["who"].queries           ("Which papers cite paper 500?",)
    questions["who"].holds(responses, graph_as_left)

The graph grows by its number of papers, and the work that a question asks for does not: what is measured is
how a program hands a large object to a prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spsbench.script import Lines

SMALLEST = 10
MOST_CITED = 3
SPREAD = 2654435761
"""Knuth's multiplier, which scatters the numbers of the cited papers evenly."""

Edges = Mapping[int, frozenset[int]]
Response = Any
"""What the program says that a query was answered: a number, a set of papers, None."""


@dataclass(frozen=True, slots=True)
class Citations:
    """Papers, and for each cited paper those that cite it."""

    nodes: frozenset[int]
    edges: Edges


@dataclass(frozen=True, slots=True)
class Question:
    """Queries to be played on a fresh graph, what must come of them, and what a perfect model says."""

    name: str
    queries: tuple[str, ...]
    responses: tuple[Response, ...]
    left: Citations
    """The graph as it must be afterwards."""
    perfect: Lines

    def holds(self, responses: list[Response], nodes: set[int], edges: dict[int, set[int]]) -> bool:
        """Whether these are the right responses, and this the right graph."""
        cited = {paper: frozenset(citing) for paper, citing in edges.items() if citing}
        return (
            tuple(responses) == self.responses
            and frozenset(nodes) == self.left.nodes
            and cited == self.left.edges
        )


def citations(size: int) -> Citations:
    """The graph of so many papers; each but the first cites one to three older ones."""
    if size < SMALLEST:
        raise ValueError(f"a graph has {SMALLEST} papers or more, not {size}")
    citing: dict[int, set[int]] = {}
    for paper in range(1, size):
        for cited in {(paper * SPREAD * (way + 1) >> 7) % paper for way in range(MOST_CITED)}:
            citing.setdefault(cited, set()).add(paper)
    return Citations(
        frozenset(range(size)), {paper: frozenset(papers) for paper, papers in citing.items()}
    )


def questions_on(graph: Citations) -> dict[str, Question]:
    """The six questions on a graph, by name; they are about papers in the middle of it."""
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
        update(
            "cite",
            f"Update the graph so that paper {other} cites paper {cited}.",
            linked(graph, other, cited),
            f"graph.edges[{cited}].add({other})\nresponse = None",
        ),
        update(
            "publish",
            f"A new paper has come out, number {size}. It cites paper {cited} only.",
            linked(graph, size, cited),
            f"graph.nodes.add({size})\ngraph.edges[{cited}].add({size})\nresponse = None",
        ),
        update(
            "retract",
            f"Paper {gone} was retracted, take it out of the graph altogether.",
            without(graph, gone),
            f"graph.nodes.discard({gone})\ngraph.edges.pop({gone}, None)\n"
            f"for citing in graph.edges.values():\n    citing.discard({gone})\nresponse = None",
        ),
        answer(
            "who",
            f"Which papers cite paper {cited}?",
            graph,
            set(graph.edges[cited]),
            f"response = set(graph.edges[{cited}])",
        ),
        answer(
            "how many",
            f"How many papers does paper {newest} cite?",
            graph,
            cites,
            f"response = sum({newest} in citing for citing in graph.edges.values())",
        ),
        Question(
            "leave",
            ("That is all for today, thank you!", f"Paper {other} cites paper {cited} as well."),
            (),
            graph,
            Lines((said(finished=True),), ("break",)),
        ),
    )
    return {question.name: question for question in asked}


def update(name: str, query: str, left: Citations, code: str) -> Question:
    """A query that changes the graph, and is answered by None."""
    listed = [
        {"cited": paper, "citing": sorted(citing)} for paper, citing in sorted(left.edges.items())
    ]
    copied = said(update={"nodes": sorted(left.nodes), "edges": listed})
    return Question(name, (query,), (None,), left, Lines((copied,), (code,)))


def answer(name: str, query: str, graph: Citations, response: Response, code: str) -> Question:
    """A query that changes nothing, and has an answer."""
    sent = sorted(response) if isinstance(response, set) else response
    return Question(name, (query,), (response,), graph, Lines((said(response=sent),), (code,)))


def said(**parts: Any) -> dict[str, Any]:
    """What a perfect model answers to the manual program."""
    return {"finished": False, "update": None, "response": None} | parts


def linked(graph: Citations, citing: int, cited: int) -> Citations:
    """The graph in which one paper, perhaps a new one, cites another."""
    edges = {**graph.edges, cited: graph.edges.get(cited, frozenset()) | {citing}}
    return Citations(graph.nodes | {citing}, edges)


def without(graph: Citations, paper: int) -> Citations:
    """The graph without a paper and all that it cites or is cited by."""
    kept = {cited: citing - {paper} for cited, citing in graph.edges.items() if cited != paper}
    return Citations(
        graph.nodes - {paper}, {cited: citing for cited, citing in kept.items() if citing}
    )
