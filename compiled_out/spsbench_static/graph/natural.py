# compiled by njc 0.3.0 from graph/natural.njpy (sha256 aaae8b680763f8da, options cc2447ed8334793a, abi 1)
# do not edit: change graph/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Ask and edit a graph of paper citations, in plain words."""

import njrt as _nj
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Graph:
    nodes: set[int] = field(default_factory=set)
    edges: dict[int, set[int]] = field(default_factory=dict)


def main(queries: Iterable[str], graph: Graph) -> list[Any]:
    responses = []
    for query in queries:
        response: int | set[int] | None
        try:
            _nj.run(
                """natural
        <graph.edges> maps a cited paper to the set of the papers that cite it; <graph.nodes> are all papers, by ID.
        Do what the <query> asks. If it asks for a change, change them, and <:response: int | set[int] | None> is None.
        If it is a question, response is the number, the paper ID or the set of paper IDs that answers it.
        Break if the user is finished.
        """,
                lambda: (graph, query, response),
                writes="response",
                types=lambda: {"response": int | set[int] | None},
                parts="graph.edges graph.nodes",
                labels="break",
                at="graph/natural.njpy:17",
            )
        except _nj.Break:
            break
        responses.append(response)
    return responses


# njc lines 1=1 4:1 6=3 7:3 22=17 25:18 30=17 39:23 41=25 sha256 d9c6bc352cd4bd9d
