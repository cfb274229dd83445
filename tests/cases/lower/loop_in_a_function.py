# compiled by njc 0.3.0 from loop_in_a_function.njpy (sha256 a5dba9a6c6a2ea31, abi 1)
# do not edit: change loop_in_a_function.njpy and build again
# pyright: reportUnboundVariable=false
"""The program of the paper's first figure."""

import njrt as _nj
from graphs import Graph


def main(queries: list[str], graph: Graph) -> list:
    responses = []
    for query in queries:
        response: _nj.Any
        try:
            _nj.run(
                """natural
        Perform the <query> with respect to <graph>, where nodes are paper IDs and edges point
        from a cited paper to a set of papers that cite it.
        Break if the <query> indicates termination.
        Else, save a <:response> and update <graph> to answer <query>.
        """,
                lambda: (query, graph, response),
                writes="response",
                labels="break",
                at="loop_in_a_function.njpy:9",
                guarded="the type of `graph` has a class of another package, `graphs.Graph`",
            )
        except _nj.Break:
            break
        responses.append(response)
    return responses


# njc lines 1=1 4:1 6=3 7:3 14=9 17:10 22=9 30:15 32=17 sha256 3cda0632bb5c6387
