"""Variables in a few words, for the rows of tables and lists.

    summarize_variables({"mail": "str = 'Can we talk about the new catalogue?'", "n": "int = 3"})
        mail='Can we talk about the n…, n=3
    summarize_variables({"topic": "str = 'bills'", "self": "Mailbox = Mailbox(mails=['Can we ...", "x": None}, {"self"})
        topic='bills', self, del x

Of a variable that was bound before and whose value is long, only the name is written: the start of a value seldom
has the change in it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

MAX_VALUE_CHARS = 24
MAX_ROW_CHARS = 60
NO_CHANGE = "nothing"
"""In place of the changes of a run or an effect that has changed nothing."""


def summarize_variables(texts: Mapping[str, str | None], known: Collection[str] = ()) -> str:
    """Return variables on one line; None is one that is no longer bound, `known` are those bound before."""
    parts = []
    for name, text in texts.items():
        value = " ".join((text or "").partition(" = ")[2].split())
        if text is None:
            parts.append(f"del {name}")
        elif not value or (name in known and len(value) > MAX_VALUE_CHARS):
            parts.append(name)
        else:
            parts.append(f"{name}={_cut(value, MAX_VALUE_CHARS)}")
    return _cut(", ".join(parts), MAX_ROW_CHARS)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
