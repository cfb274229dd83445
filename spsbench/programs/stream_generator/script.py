"""What a perfect model says for stream_generator, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def generator(body: str) -> CaseScript:
    """The manual program calls the function `stream`; the natural one wants a generator of that name."""
    return CaseScript(
        (f"def stream():\n{body}",),
        (f"def values():\n{body}\nstream = values()",),
    )


SCRIPT = Script(
    {
        "squares": generator(
            "    number = 1\n    while True:\n        yield number**2\n        number += 2\n"
        ),
        "weekdays": generator(
            "    days = 'Saturday Sunday Monday Tuesday Wednesday Thursday Friday'.split()\n"
            "    while True:\n        yield from days\n"
        ),
        "countdown": generator("    yield from (3, 2, 1)\n    yield 'liftoff'\n"),
    },
    Mistake(
        "countdown",
        generator("    yield from (1, 2, 3)\n    yield 'liftoff'\n"),
        fails=("it begins with [3, 2, 1, 'liftoff']",),
    ),
)
