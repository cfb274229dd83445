"""What a perfect model says for mask_sensitive_info, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def hiding(*secrets: str) -> CaseScript:
    code = f"""
masked = text
for secret in {secrets!r}:
    masked = masked.replace(secret, "*" * len(secret))
"""
    return CaseScript((list(secrets),), (code,))


SCRIPT = Script(
    {"note": hiding("Jonas", "5550142"), "login": hiding("mara@example.org", "rain4sale")},
    Mistake(
        "login",
        hiding("mara@example.org"),
        fails=("what is private is masked, and only that",),
    ),
)
