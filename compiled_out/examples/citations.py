# compiled by njc 0.1.0 from citations.njpy (sha256 83bff56951b29478, abi 1)
# do not edit: change citations.njpy and build again
"""Query and edit a graph of papers in a loop, until the user is done."""

import njrt as _nj

Citations = dict[int, set[int]]
"""For each paper the set of the papers that cite it."""


def converse(queries: list[str], cited_by: Citations) -> list[str]:
    answers = []
    for query in queries:
        try:
            _nj.run(
                """natural
        If <query> says goodbye, break.
        """,
                lambda: (query,),
                labels="break continue return",
                at="citations.njpy:10",
            )
        except _nj.Break:
            break
        except _nj.Continue:
            continue
        except _nj.Return as _nj_r:
            return _nj_r.value
        answer: str
        try:
            _nj.run(
                """natural
        Do what <query> asks, with <cited_by>: cited_by[paper] is the set of papers that cite it. Bind
        <:answer: str> to a short answer.
        """,
                lambda: (query, cited_by, answer),
                writes="answer",
                types=lambda: {"answer": str},
                labels="break continue return",
                at="citations.njpy:13",
            )
        except _nj.Break:
            break
        except _nj.Continue:
            continue
        except _nj.Return as _nj_r:
            return _nj_r.value
        answers.append(answer)
    return answers


if __name__ == "__main__":
    graph = {14: {3, 8}, 3: {8}}
    queries = [
        "How many papers cite paper 14?",
        "Add paper 5 to the papers that cite paper 14.",
        "Goodbye, I am done.",
        "How many papers cite paper 3?",
    ]
    for query, answer in zip(queries, converse(queries, graph), strict=False):
        print(f"{query}\n  {answer}")
    print("paper 14 is now cited by", sorted(graph[14]))


# njc lines 1=1 3:1 4=2 6:2 15=10 17:11 19=10 29:13 30=13 33:14 36=13 48:17 63=32 sha256 b6063fa552c11667
