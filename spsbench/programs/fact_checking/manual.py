"""Check the facts of a text, and add what is found to a list that others read too."""

from typing import TypedDict

from spsbench.llm import llm


class FactCheck(TypedDict):
    claim: str
    is_true: bool


def check_facts(text: str, results: list[FactCheck]) -> None:
    claims = llm(
        "Gather the factual claims of the text, in its order and each as a sentence of its own. "
        f"Opinions are no claims.\n\n{text}",
        {"type": "array", "items": {"type": "string"}},
    )
    for claim in claims:
        is_true = llm(f"Is this claim true? {claim}", {"type": "boolean"})
        results.append({"claim": claim, "is_true": is_true})
