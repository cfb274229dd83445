"""Ask and edit a graph of paper citations, in plain words."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from spsbench.llm import llm


@dataclass
class Graph:
    nodes: set[int] = field(default_factory=set)
    edges: dict[int, set[int]] = field(default_factory=dict)


class Edge(BaseModel):
    cited: int
    citing: list[int]


class Update(BaseModel):
    nodes: list[int]
    edges: list[Edge]


class Result(BaseModel):
    finished: bool
    update: Update | None
    response: int | list[int] | None


def encode(graph: Graph) -> str:
    edges = [{"cited": cited, "citing": sorted(citing)} for cited, citing in graph.edges.items()]
    return json.dumps({"nodes": sorted(graph.nodes), "edges": edges})


def main(queries: Iterable[str], graph: Graph) -> list[Any]:
    responses: list[Any] = []
    for query in queries:
        result = llm(
            f"A graph of paper citations; each edge leads from a cited paper to all papers that cite it:\n"
            f"{encode(graph)}\n\nQuery: {query}\n\n"
            "Say whether the query tells that the user is finished. If it asks for an update, give the whole "
            "updated graph. If it is a question, respond with the number, the paper ID or the list of paper IDs "
            "that answers it.",
            Result,
        )
        if result.finished:
            break
        if result.update is not None:
            graph.nodes = set(result.update.nodes)
            graph.edges = {edge.cited: set(edge.citing) for edge in result.update.edges}
        response = result.response
        responses.append(set(response) if isinstance(response, list) else response)
    return responses
