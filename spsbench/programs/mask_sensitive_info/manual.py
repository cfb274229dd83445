"""Make a text fit to be shown around: what is private turns into asterisks."""

from spsbench.llm import llm


def mask(text: str) -> str:
    secrets = llm(
        "List, exactly as they are written, the names of persons, numbers of phones and cards, e-mail addresses, "
        f"and passwords in this text:\n\n{text}",
        {"type": "array", "items": {"type": "string"}},
    )
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "*" * len(secret))
    return text
