# compiled by njc 0.3.0 from citations.njpy (sha256 fa477f625df7f2bb, abi 1)
# do not edit: change citations.njpy and build again
# pyright: reportUnboundVariable=false
"""Query and edit a graph of papers in a loop, until the user is done."""

import njrt as _nj

Citations = dict[int, set[int]]
"""For each paper the set of the papers that cite it."""


def converse(queries: list[str], cited_by: Citations) -> list[str]:
    answers = []
    for query in queries:
        answer: str
        try:
            _nj.run(
                """natural
        <cited_by> maps a paper to the set of the papers that cite it. Do what the <query> asks, and bind
        <:answer: str> to a short answer. Break if the user says goodbye.
        """,
                lambda: (cited_by, query, answer),
                writes="answer",
                types=lambda: {"answer": str},
                labels="break",
                at="citations.njpy:10",
            )
        except _nj.Break:
            break
        answers.append(answer)
    return answers


if __name__ == "__main__":
    graph = {14: {3, 8}, 3: {8}}
    queries = [
        "Add 20 to the papers citing paper 14.",
        "How many papers cite paper 14?",
        "Goodbye, I am done.",
        "How many papers cite paper 3?",
    ]
    for query, answer in zip(queries, converse(queries, graph), strict=False):
        print(f"{query}\n  {answer}")
    print("paper 14 is now cited by", sorted(graph[14]))


# njc lines 1=1 4:1 5=2 7:2 16=10 19:11 22=10 30:14 45=29 sha256 624465ec6b5806f5
