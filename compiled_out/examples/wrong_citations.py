# compiled by njc 0.3.0 from wrong_citations.njpy (sha256 7589ecce29262390, abi 1)
# do not edit: change wrong_citations.njpy and build again
# pyright: reportUnboundVariable=false
"""The program of citations.njpy with a prompt that a small model misreads; `njc debug` finds the wrong effect."""

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
        Do what <query> asks, with <cited_by>: cited_by[paper] is the set of papers that cite it; new citations are
        added there. Bind <:answer: str> to a short answer. If <query> says goodbye, break.
        """,
                lambda: (query, cited_by, answer),
                writes="answer",
                types=lambda: {"answer": str},
                labels="break",
                at="wrong_citations.njpy:10",
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


# njc lines 1=1 4:1 5=2 7:2 16=10 19:11 22=10 30:14 45=29 sha256 ddc0a3921d1c0061
