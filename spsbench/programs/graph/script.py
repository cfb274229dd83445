"""What a perfect model says for graph, and a slip."""

from typing import Any

from spsbench.script import CaseScript, Mistake, Script


def result(**said: Any) -> dict[str, Any]:
    return {"finished": False, "update": None, "response": None} | said


def update(nodes: list[int], edges: dict[int, list[int]]) -> dict[str, Any]:
    listed = [{"cited": cited, "citing": citing} for cited, citing in edges.items()]
    return result(update={"nodes": nodes, "edges": listed})


NODES = [1, 2, 3, 4, 5, 14]
EDGES = {1: [2, 3, 4], 2: [4], 3: [4, 5], 14: [3]}

PUBLISH = """
graph.nodes.add(20)
graph.edges.setdefault(2, set()).add(20)
response = None
"""
RETRACT = """
graph.nodes.discard(3)
graph.edges.pop(3, None)
for citing in graph.edges.values():
    citing.discard(3)
response = None
"""

SCRIPT = Script(
    {
        "cite": CaseScript(
            (update(NODES, EDGES | {14: [3, 5]}),),
            ("graph.edges[14].add(5)\nresponse = None",),
        ),
        "publish": CaseScript((update([*NODES, 20], EDGES | {2: [4, 20]}),), (PUBLISH,)),
        "retract": CaseScript((update([1, 2, 4, 5, 14], {1: [2, 4], 2: [4]}),), (RETRACT,)),
        "who": CaseScript((result(response=[2, 3, 4]),), ("response = set(graph.edges[1])",)),
        "how many": CaseScript(
            (result(response=3),),
            ("response = sum(4 in citing for citing in graph.edges.values())",),
        ),
        "leave": CaseScript((result(finished=True),), ("break",)),
    },
    Mistake(
        "cite",
        CaseScript(
            (update(NODES, EDGES | {5: [14]}),),
            ("graph.edges.setdefault(5, set()).add(14)\nresponse = None",),
        ),
        fails=("5 is among the papers that cite 14",),
    ),
)
