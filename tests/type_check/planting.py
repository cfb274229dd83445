"""Programs with type errors at known places: blocks with mistakes, in every place where a block may stand.

In the texts, `⟪` marks where mypy reports an error, and `⟫` where pyright does.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """\
from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass


@dataclass
class User:
    name: str
    age: int


def takes(text: str) -> str:
    return text


USER, COUNT, MAILS = User("Anna", 40), 3, ["a"]

"""

PROMPTS = {
    "wrong attribute": "Look at <⟪user.⟫nmae> and <user.name>, 1 << 2.",
    "two on a line": "Compare <⟪user.⟫nam> with <⟪user.⟫aeg>.",
    "second line": 'Read <user.age>, "<<quoted>" 😀,\n{indent}then <⟪mails.⟫foo> into <:text: list[str]>.',
    "wrong type": "Bind <:⟪⟫count: str>.",
    "wrong type of an attribute": "Set <:⟪⟫user.age: str>.",
    "wrong type arguments": "Bind <:other: ⟪list[int, ⟫str]>.",
    "after its output": "Bind <:made: User>, whose <⟪made.⟫nmae> matters.",
    "type on two lines": "Bind <:pair: tuple[\n{indent}int, str]> for <⟪user.⟫what>.",
    "nothing wrong": "Bind <:good: dict[str, list[int]]> from <user.name> and <count>.",
}
"""The text of a block; `{indent}` is the indentation of the block."""

NAMES = "user: User, count: int, mails: list[str]"
LOCALS = "count: int = 0\n    user, mails = USER, MAILS"

PLACES = {
    "module": ("user = USER\ncount: int = 0\nmails = MAILS\n", "", ""),
    "function": (f"def run({NAMES}) -> None:\n", "    ", "    takes(⟪⟫user)\n"),
    "method in a loop": (
        f"class Box:\n    def run(self, {NAMES}) -> None:\n        for mail in mails:\n",
        "            ",
        "            takes(⟪⟫count)\n",
    ),
    "class body": (
        "class Box:\n    user = USER\n    mails = MAILS\n    count: int = 0\n",
        "    ",
        "",
    ),
    "async function": (f"async def run({NAMES}) -> None:\n", "    ", "    takes(⟪⟫user)\n"),
    "generator": (f"def run({NAMES}) -> Iterator[int]:\n    yield 1\n", "    ", "    yield 2\n"),
    "async generator": (
        f"async def run({NAMES}) -> AsyncIterator[int]:\n    yield 1\n",
        "    ",
        "",
    ),
    "except*": (
        f"def run({NAMES}) -> None:\n    try:\n        takes('')\n    except* ValueError:\n",
        "        ",
        "    takes(⟪⟫user)\n",
    ),
    "finally": (
        f"def run({NAMES}) -> None:\n    try:\n        takes('')\n    finally:\n",
        "        ",
        "",
    ),
    "match": (
        f"def run({NAMES}) -> None:\n    match count:\n        case 1:\n",
        "            ",
        "        case _:\n            takes(⟪⟫count)\n",
    ),
    "nonlocal": (
        f"def around() -> None:\n    {LOCALS}\n\n    def run() -> None:\n        nonlocal count\n",
        "        ",
        "        takes(⟪⟫count)\n",
    ),
    "tabs": (f"def run({NAMES}) -> None:\n", "\t", "\ttakes(⟪⟫user)\n"),
}
"""What is above the blocks, their indentation, and what is below."""

OPENINGS = ('"""natural', "'''natural(max_effects=3)", 'r"""natural', 'f"""natural', '"""prompt')

OTHERS = {
    "one_line": (
        HEAD
        + f"def run({NAMES}) -> None:\n"
        + '    if count: """natural\n    Look at <⟪user.⟫nmae>.\n    """; takes(⟪⟫count)\n'
        + '    count += 1; """natural\n    Bind <:⟪⟫count: str>. Return if <⟪user.⟫x>.\n    """\n'
    ),
    "jumps": (
        HEAD
        + f"def run({NAMES}) -> str:\n    while True:\n"
        + '        """natural\n        Break or continue by <⟪user.⟫nmae>.\n        """\n'
        + '        takes(⟪⟫count)\n    """natural\n    Return the sum of <⟪mails.⟫foo>.\n    """\n'
    ),
    "fields": (
        HEAD
        + f"def run({NAMES}) -> None:\n"
        + '    f"""natural\n    See {takes("x")} and <⟪user.⟫nmae>.\n    """\n    takes(⟪⟫count)\n'
    ),
    "ignored": (
        HEAD
        + f"def run({NAMES}) -> None:\n"
        + '    """natural\n    Look at <user.nmae>\n    and <mails.foo>.\n    """  # type: ignore\n'
        + "    takes(⟪⟫count)\n"
    ),
    "first": '"""natural\nLook at <⟪Box.⟫nmae>.\n"""\n\n\nclass Box:\n    pass\n'.replace(
        "⟪Box.⟫nmae", "__name__"
    ),
    "names": (
        "import builtins as _nj\nimport typing as _nj1\n\n\ndef run(_nj2: int) -> None:\n"
        '    """natural\n    Look at <⟪_nj2.⟫nmae>.\n    """\n    _nj.print(_nj1)\n'
    ),
    "crlf": (
        HEAD + f"def run({NAMES}) -> None:\n" + '    """natural\n    See <⟪user.⟫nmae>\n    """\n'
        "    takes(⟪⟫count)\n"
    ).replace("\n", "\r\n"),
    "redefined": (
        HEAD + f"def run({NAMES}) -> None:\n" + '    """natural\n    See <count>\n    """\n'
        "    takes(⟪⟫count)\n"
    ),
}


@dataclass(frozen=True)
class PlantedProgram:
    """A program, and where each checker is to report: lines from 1, columns from 1."""

    text: str
    mypy: tuple[tuple[int, int], ...]
    pyright: tuple[tuple[int, int], ...]


def plant_programs() -> dict[str, PlantedProgram]:
    """Return a program for each place, with a block for each prompt; by the name of its module."""
    programs = {}
    for number, (place, (above, indent, below)) in enumerate(PLACES.items()):
        opening = OPENINGS[number % len(OPENINGS)]
        blocks = [
            f"{indent}{opening}\n{indent}{prompt.format(indent=indent)}\n{indent}{opening.lstrip('rf')[:3]}\n"
            for prompt in PROMPTS.values()
            if "f" not in opening[:1] or "{" not in prompt.format(indent="")
        ]
        name = "".join(letter if letter.isalnum() else "_" for letter in place)
        programs[f"place_{name}"] = read_marks(HEAD + above + "".join(blocks) + below)
    for name, text in OTHERS.items():
        programs[f"other_{name}"] = read_marks(text)
    return programs


def read_marks(text: str) -> PlantedProgram:
    """Take the marks out of a text, and note their places."""
    found: dict[str, list[tuple[int, int]]] = {"⟪": [], "⟫": []}
    line, column, kept = 1, 1, []
    for letter in text:
        if letter in found:
            found[letter].append((line, column))
            continue
        kept.append(letter)
        line, column = (line + 1, 1) if letter == "\n" else (line, column + 1)
    return PlantedProgram("".join(kept), tuple(found["⟪"]), tuple(found["⟫"]))
