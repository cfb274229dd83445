"""A note with a name and a number, and a message with an address and a password."""

from spsbench.task import Case, Check, Task


def masked(name: str, text: str, *secrets: str) -> Case:
    expected = text
    for secret in secrets:
        expected = expected.replace(secret, "*" * len(secret))
    return Case(
        name,
        lambda program: program.mask(text),
        (Check("what is private is masked, and only that", lambda found: found == expected),),
    )


TASK = Task(
    "mask_sensitive_info",
    (
        masked("note", "Please call Jonas at 5550142 before 6 pm.", "Jonas", "5550142"),
        masked(
            "login",
            "The new account is mara@example.org, its password is rain4sale; it works since Monday.",
            "mara@example.org",
            "rain4sale",
        ),
    ),
)
