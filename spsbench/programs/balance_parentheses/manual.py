"""Put back parentheses that somebody lost, where the meaning wants them."""

from spsbench.llm import llm


def balance(expression: str, context: str) -> str:
    balanced: str = llm(
        f"Some parentheses of the expression below were lost. Put back what is missing, where it makes sense in "
        f"the context, and change nothing else.\n\nExpression: {expression}\nContext: {context}",
        {"type": "string"},
    )
    return balanced
