# compiled by njc 0.2.0 from graph/natural.njpy (sha256 07d803deeb8d9f7e, options cc2447ed8334793a, code bdeb4c5f64fe2d31, abi 1)
# do not edit: change graph/natural.njpy and build again
# no code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local) is used: the blocks run live
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
        Perform the <query> with respect to <graph>, where nodes are paper IDs and edges point from
        a cited paper to the set of papers that cite it.
        Break if the <query> says that the user is finished.
        Else, update <graph> if that is asked, and save the <:response: int | set[int] | None>: the number,
        the paper ID or the set of paper IDs that answers a question, and None after an update.
        """,
                lambda: (query, graph, response),
                writes="response",
                types=lambda: {"response": int | set[int] | None},
                labels="break",
                at="graph/natural.njpy:17",
            )
        except _nj.Break:
            break
        responses.append(response)
    return responses


# njc lines 1=1 5:1 7=3 8:3 23=17 26:18 32=17 40:24 42=26 sha256 af3d6ea72c21c04f
