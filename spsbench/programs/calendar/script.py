"""What a perfect model says for calendar, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def plan(verb: str, **details: object) -> dict[str, object]:
    empty: dict[str, object] = {"event": None, "title": None, "start": None, "guests": []}
    return {"actions": [empty | {"verb": verb} | details]}


SCRIPT = Script(
    {
        "add": CaseScript(
            (plan("add", title="Review", start="2026-03-05T15:00:00", guests=["Ada"]),),
            (
                'event = calendar.add("Review", datetime(2026, 3, 5, 15))\n'
                'calendar.invite(event, "Ada")',
            ),
        ),
        "move": CaseScript(
            (plan("move", event=1, start="2026-03-06T12:00:00"),),
            ("calendar.move(calendar.events()[1], datetime(2026, 3, 6, 12))",),
        ),
        "cancel": CaseScript(
            (plan("cancel", event=0),),
            ("calendar.cancel(calendar.events()[0])",),
        ),
    },
    Mistake(
        "move",
        CaseScript(
            (plan("move", event=0, start="2026-03-06T12:00:00"),),
            ("calendar.move(calendar.events()[0], datetime(2026, 3, 6, 12))",),
        ),
        fails=("lunch is moved by `move`",),
    ),
)
