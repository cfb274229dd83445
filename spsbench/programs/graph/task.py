"""Six queries: three updates, two questions and a farewell, each on the same small graph."""

from types import ModuleType
from typing import Any

from spsbench.task import Case, Check, Task

EDGES = {1: {2, 3, 4}, 2: {4}, 3: {4, 5}, 14: {3}}


def query(name: str, *queries: str, check: Check) -> Case:
    """Play queries on a fresh graph: what is seen is the responses, the nodes and the edges."""

    def play(program: ModuleType) -> tuple[list[Any], set[int], dict[int, set[int]]]:
        edges = {cited: set(citing) for cited, citing in EDGES.items()}
        graph = program.Graph({1, 2, 3, 4, 5, 14}, edges)
        responses = program.main(iter(queries), graph)
        return responses, graph.nodes, graph.edges

    return Case(name, play, (check,))


def cited(edges: dict[int, set[int]]) -> dict[int, set[int]]:
    """The edges without papers that nobody cites."""
    return {paper: citing for paper, citing in edges.items() if citing}


TASK = Task(
    "graph",
    (
        query(
            "cite",
            "Update the graph so that paper 5 cites paper 14.",
            check=Check(
                "5 is among the papers that cite 14",
                lambda seen: cited(seen[2]) == EDGES | {14: {3, 5}},
            ),
        ),
        query(
            "publish",
            "A new paper has come out, number 20. It cites paper 2 only.",
            check=Check(
                "20 is a node and cites 2",
                lambda seen: (
                    seen[1] == {1, 2, 3, 4, 5, 14, 20} and cited(seen[2]) == EDGES | {2: {4, 20}}
                ),
            ),
        ),
        query(
            "retract",
            "Paper 3 was retracted, take it out of the graph altogether.",
            check=Check(
                "3 is neither a node nor an end of an edge",
                lambda seen: seen[1] == {1, 2, 4, 5, 14} and cited(seen[2]) == {1: {2, 4}, 2: {4}},
            ),
        ),
        query(
            "who",
            "Which papers cite paper 1?",
            check=Check(
                "the response is the set of 2, 3 and 4, and nothing is changed",
                lambda seen: seen[0] == [{2, 3, 4}] and seen[2] == EDGES,
            ),
        ),
        query(
            "how many",
            "How many papers does paper 4 cite?",
            check=Check(
                "the response is 3, and nothing is changed",
                lambda seen: seen[0] == [3] and seen[2] == EDGES,
            ),
        ),
        query(
            "leave",
            "That is all for today, thank you!",
            "Paper 5 cites paper 1 as well.",
            check=Check(
                "nothing is answered and nothing is changed",
                lambda seen: seen[0] == [] and seen[2] == EDGES,
            ),
        ),
    ),
)
