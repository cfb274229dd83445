# compiled by njc 0.1.0 from graph/natural.njpy (sha256 8471521d5cdcf5f6, options cc2447ed8334793a, code d72d531833277848, abi 1)
# do not edit: change graph/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 6 checks of its program (answered by a script)
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
        # natural
        # Perform the <query> with respect to <graph>, where nodes are paper IDs and edges point from
        # a cited paper to the set of papers that cite it.
        # Break if the <query> says that the user is finished.
        # Else, update <graph> if that is asked, and save the <:response>: the number, the paper ID or the
        # set of paper IDs that answers a question, and None after an update.
        llm = _nj.llm_at("graph/natural.njpy:17")
        if query == "done":
            break
        response = llm(
            f"Find the number of papers that cite the paper with ID {query}", int
        )
        graph.nodes.add(response)
        graph.edges[response] = set()
        # end of natural block
        responses.append(response)
    return responses


# njc lines 1=1 4:1 6=3 7:3 22=17 36:24 38=26 sha256 6abeb022954bf70b
