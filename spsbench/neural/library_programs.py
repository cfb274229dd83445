"""Random functions on strings, lists and dictionaries, using the methods of Python's own types.

    write_function(Random(4))
        ["def f(text, n):", "    k = text.count('a')", ...], ["'banana'", "3"]

Each expression and statement is a template with typed holes: `{text}` is a variable of that type,
`{char}` a literal. The functions have one to three parameters, conditions, loops and early returns.
All of them end, because no loop changes its own sequence. Some raise exceptions, as `max` does for
an empty list.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

Kind = Literal["int", "text", "numbers", "words", "table", "flag"]
Lines = list[str]


def _split(table: str) -> list[str]:
    return re.split(r"\s{2,}", table.strip())


NAMES: Mapping[Kind, Sequence[str]] = {
    "int": ("n", "k", "m", "i", "j", "x", "size", "count", "total", "value", "idx", "num"),
    "text": ("text", "s", "string", "word", "line", "name", "result", "char", "new", "prefix"),
    "numbers": ("nums", "array", "values", "lst", "items", "li", "numbers", "output"),
    "words": ("words", "parts", "chars", "names", "tokens", "lines", "keys"),
    "table": ("d", "dic", "counts", "data", "table", "mapping", "seen"),
}
EXPRESSIONS: Mapping[Kind, Sequence[str]] = {
    "int": _split(
        """
        len({text})  len({numbers})  len({words})  len({table})  {text}.count({char})
        {text}.find({char})  {text}.rfind({char})  {text}.index({char})  {numbers}.count({int})
        {numbers}[{place}]  {numbers}.index({int})  sum({numbers})  max({numbers})  min({numbers})
        {table}.get({char}, {digit})  ord({text}[{place}])  abs({int})  {int} + {digit}
        {int} - {int}  {int} * {digit}  {int} % {digit}  {int} // {digit}  len(set({text}))
        """
    ),
    "text": _split(
        """
        {text}.upper()  {text}.lower()  {text}.title()  {text}.swapcase()  {text}.capitalize()
        {text}.strip()  {text}.strip({char})  {text}.lstrip({char})  {text}.rstrip({char})
        {text}.replace({char}, {char})  {text}.replace({char}, '')  {text}.removeprefix({char})
        {text}.removesuffix({char})  {text}.zfill({digit})  {text}.ljust({digit}, '*')
        {text}.rjust({digit})  {text}.center({digit})  {text}[::-1]  {text}[{place}]
        {text}[{place}:]  {text}[:{place}]  {text}[1:-1]  {text} + {char}  {char} + {text}
        {text} + {text}  {text} * 2  str({int})  ''.join({words})  {char}.join({words})
        ' '.join({words})  ''.join(reversed({text}))  ''.join(sorted({text}))
        ''.join(c for c in {text} if c != {char})  ''.join(c for c in {text} if c.isalpha())
        {words}[{place}]  {text}.partition({char})[0]  f'{{{text}}}{{{int}}}'
        '{{}}-{{}}'.format({text}, {int})
        """
    ),
    "numbers": _split(
        """
        sorted({numbers})  sorted({numbers}, reverse=True)  {numbers}[::-1]  {numbers}[{place}:]
        {numbers}[:{place}]  {numbers} + [{int}]  list({numbers})  {numbers}.copy()
        list(range({digit}))  list({table}.values())  [x for x in {numbers} if x > {digit}]
        [x * {digit} for x in {numbers}]  [x + {int} for x in {numbers}]
        [len(w) for w in {words}]  [{int}, {digit}]  []
        """
    ),
    "words": _split(
        """
        {text}.split()  {text}.split({char})  {text}.rsplit({char}, 1)  list({text})
        sorted({words})  {words}[::-1]  {words}[{place}:]  {words} + [{text}]
        [w.upper() for w in {words}]  [w for w in {words} if w != {char}]  list({table}.keys())
        list({table})  [{text}, {char}]  []
        """
    ),
    "table": _split(
        """
        {{}}  dict({table})  {table}.copy()  {{c: {digit} for c in {text}}}
        {{w: len(w) for w in {words}}}  dict.fromkeys({words}, {digit})  {{{text}: {int}}}
        {{k: v for k, v in {table}.items() if v > {digit}}}
        """
    ),
    "flag": _split(
        """
        {text}.isdigit()  {text}.isalpha()  {text}.isupper()  {text}.islower()
        {text}.startswith({char})  {text}.endswith({char})  {char} in {text}  {char} not in {text}
        {text} == {text}  {int} in {numbers}  {int} not in {numbers}  {text} in {words}
        {text} in {table}  {int} > {digit}  {int} < {int}  {int} == {digit}  {int} % 2 == 0
        len({text}) > {digit}  len({numbers}) > {digit}  not {text}  not {numbers}  {words}
        """
    ),
}
CHANGES = _split(
    """
    {int} += {digit}  {int} -= {digit}  {int} *= 2  {text} += {char}  {text} += {text}
    {numbers}.append({int})  {numbers}.append({digit})  {numbers}.insert(0, {int})
    {numbers}.pop()  {numbers}.pop(0)  {numbers}.remove({int})  {numbers}.reverse()
    {numbers}.sort()  {numbers}.extend({numbers})  {numbers}[{place}] = {int}
    {numbers} += [{digit}]  del {numbers}[{place}]  {words}.append({text})  {words}.pop()
    {words}.sort()  {words}.reverse()  {words}.remove({char})  {words}.insert({digit}, {text})
    {table}[{char}] = {int}  {table}[{text}] = {digit}
    {table}[{text}] = {table}.get({text}, 0) + 1  {table}.update({{{char}: {int}}})
    {table}.pop({char}, None)  {table}.setdefault({text}, {digit})
    """
)
"""Statements that change an existing variable."""
LOOPS: Sequence[tuple[str, tuple[Kind, ...]]] = (
    ("for {0} in {text}:", ("text",)),
    ("for {0} in {numbers}:", ("int",)),
    ("for {0} in {words}:", ("text",)),
    ("for {0} in range({digit}):", ("int",)),
    ("for {0} in range(len({numbers})):", ("int",)),
    ("for {0} in range(len({text})):", ("int",)),
    ("for {0}, {1} in enumerate({text}):", ("int", "text")),
    ("for {0}, {1} in enumerate({numbers}):", ("int", "int")),
    ("for {0}, {1} in {table}.items():", ("text", "int")),
    ("for {0} in {table}:", ("text",)),
)
"""Loop headers, and the kinds of their variables."""
GROWING = frozenset(
    _split(
        """
        {text} + {text}  {text} * 2  {text} += {text}  {text}.replace({char}, {char})
        ''.join({words})  {char}.join({words})  ' '.join({words})  {numbers}.extend({numbers})
        """
    )
)
"""Templates that may double a value, only outside loops, where repetition cannot exhaust memory."""
_HOLE = re.compile(r"\{(int|text|numbers|words|table|flag|digit|place|char)\}|(\{\{|\}\})")
_HOLE_KINDS = re.compile(r"\{(int|text|numbers|words|table|flag)\}")
_MAX_DEPTH = 2


@dataclass(slots=True)
class _FunctionWriter:
    """Writes one function (state: its variables by kind)."""

    random: Random
    held: dict[Kind, list[str]] = field(default_factory=dict)
    letters: set[str] = field(default_factory=set)
    """Loop variables that are texts: letters, words or keys."""

    def name(self, kind: Kind) -> str:
        """Return the name of a new variable."""
        taken = {name for names in self.held.values() for name in names}
        free = [name for name in NAMES[kind] if name not in taken]
        name = self.random.choice(free or [f"{NAMES[kind][0]}{len(taken)}"])
        self.held.setdefault(kind, []).append(name)
        return name

    def fill(
        self, templates: Sequence[str], busy: Sequence[str], kept: Sequence[str] = ()
    ) -> str | None:
        """Return a random template filled with existing variables, or None if none can be filled.

        The first hole gets a name that is not in `kept`. Inside a loop, `busy` is not empty.
        """
        for template in self.random.sample(templates, len(templates)):
            if busy and template in GROWING:
                continue
            kinds = _HOLE_KINDS.findall(template)
            free = (
                [name for name in self.held.get(kinds[0], ()) if name not in kept]
                if kinds
                else [""]
            )
            if free and all(self.held.get(kind) for kind in kinds):
                return self._fill_holes(template, iter([free]))
        return None

    def _fill_holes(self, template: str, choices: Iterator[Sequence[str]]) -> str:
        literals = {"digit": self._digit, "place": self._place, "char": self._char}

        def replace(match: re.Match[str]) -> str:
            kind: Any = match[1]
            if kind is None:
                return match[0][0]
            if kind in literals:
                return literals[kind]()
            return self.random.choice(next(choices, self.held[kind]))

        return _HOLE.sub(replace, template)

    def _digit(self) -> str:
        return str(self.random.randint(1, 9))

    def _place(self) -> str:
        return str(self.random.choice((0, 0, 1, 1, 2, 3, -1, -1, -2)))

    def _char(self) -> str:
        if self.random.random() < 0.15:
            return repr(write_word(self.random, 2, 3))
        return repr(self.random.choice(CHARACTERS))

    def block(self, size: int, depth: int, busy: Sequence[str]) -> Lines:
        """Return unindented statements; `busy` are the variables of the surrounding loops."""
        lines: Lines = []
        for _ in range(2 * size):
            write = self.random.choices(
                (self._assign, self._change, self._branch, self._loop),
                (5, 4, 3 if depth < _MAX_DEPTH else 0, 3 if depth < _MAX_DEPTH else 0),
            )[0]
            lines += write(depth, busy)
            size -= bool(lines)
            if size == 0:
                break
        return lines or ["pass"]

    def _assign(self, depth: int, busy: Sequence[str]) -> Lines:
        kind = self._choose_kind()
        text = self.fill(EXPRESSIONS[kind], busy)
        if text is None:
            return []
        known = [name for name in self.held.get(kind, ()) if name not in busy]
        if known and (depth or self.random.random() < 0.5):
            return [f"{self.random.choice(known)} = {text}"]
        return [] if depth else [f"{self.name(kind)} = {text}"]

    def _choose_kind(self) -> Kind:
        return self.random.choices(("int", "text", "numbers", "words", "table"), (4, 6, 3, 3, 1))[0]

    def _change(self, depth: int, busy: Sequence[str]) -> Lines:
        letters = [name for name in busy if name in self.letters]
        others = [name for name in self.held.get("text", ()) if name not in busy]
        if letters and others and self.random.random() < 0.4:
            return [f"{self.random.choice(others)} += {self.random.choice(letters)}"]
        text = self.fill(CHANGES, busy, busy)
        return [] if text is None else [text]

    def _branch(self, depth: int, busy: Sequence[str]) -> Lines:
        condition = self.fill(EXPRESSIONS["flag"], busy)
        if condition is None:
            return []
        lines = [f"if {condition}:", *indent(self._body(depth, busy))]
        if self.random.random() < 0.4:
            lines += ["else:", *indent(self._body(depth, busy))]
        return lines

    def _body(self, depth: int, busy: Sequence[str]) -> Lines:
        if self.random.random() < 0.15:
            return [self.leave(busy)]
        if busy and self.random.random() < 0.2:
            return [self.random.choice(("continue", "break"))]
        return self.block(self.random.choice((1, 1, 2)), depth + 1, busy)

    def _loop(self, depth: int, busy: Sequence[str]) -> Lines:
        for template, kinds in self.random.sample(LOOPS, len(LOOPS)):
            head = self.fill([template], busy)
            if head is not None:
                return self._write_loop(head, kinds, depth, busy)
        return []

    def _write_loop(
        self, head: str, kinds: Sequence[Kind], depth: int, busy: Sequence[str]
    ) -> Lines:
        before = {kind: list(names) for kind, names in self.held.items()}
        made = [self.name(kind) for kind in kinds]
        self.letters |= {name for name, kind in zip(made, kinds, strict=True) if kind == "text"}
        over = re.findall(r"\w+", head.split(" in ", 1)[1])
        body = self.block(self.random.choice((1, 2, 2)), depth + 1, [*busy, *over, *made])
        self.held = before
        return [head.format(*made), *indent(body)]

    def leave(self, busy: Sequence[str] = ()) -> str:
        """Return a `return` statement with a variable or an expression."""
        kind = self.random.choice([kind for kind, names in self.held.items() if names])
        text = self.fill(EXPRESSIONS[kind], busy) if self.random.random() < 0.4 else None
        return f"return {text or self.random.choice(self.held[kind])}"


CHARACTERS = "abcdefghinorst  ,.-:_xyzABT01"


def indent(lines: Lines) -> Lines:
    """Return the lines, indented as a block."""
    return [f"    {line}" for line in lines]


def write_function(random: Random) -> tuple[Lines, list[str]]:
    """Return the lines of a function, and random arguments for a call."""
    writer = _FunctionWriter(random)
    kinds: list[Kind] = random.choices(
        ("text", "int", "numbers", "words", "table"), (6, 3, 4, 2, 2), k=random.choice((1, 2, 2, 3))
    )
    names = [writer.name(kind) for kind in kinds]
    body = writer.block(random.randint(2, 5), 0, ())
    lines = [f"def f({', '.join(names)}):", *indent([*body, writer.leave()])]
    return lines, [write_value(random, kind) for kind in kinds]


def write_value(random: Random, kind: Kind) -> str:
    """Return a literal of a kind."""
    size = random.choice((0, 1, 2, 3, 3, 4, 5))
    match kind:
        case "int":
            return str(random.choice((random.randint(0, 9), random.randint(-20, 120))))
        case "text":
            return repr(write_text(random))
        case "numbers":
            return repr(
                [
                    random.randint(0, 9) if random.random() < 0.7 else random.randint(-9, 99)
                    for _ in range(size)
                ]
            )
        case "words":
            return repr([write_word(random, 1, 5) for _ in range(size)])
        case _:
            return repr({write_word(random, 1, 3): random.randint(0, 12) for _ in range(size)})


def write_text(random: Random) -> str:
    """Return words with separators, or random characters."""
    if random.random() < 0.5:
        return "".join(
            random.choices(string.ascii_letters + string.digits + " ,.-_", k=random.randint(0, 12))
        )
    separator = random.choice((" ", " ", ", ", "-", "_", ""))
    return separator.join(write_word(random, 1, 6) for _ in range(random.randint(1, 3)))


def write_word(random: Random, low: int, high: int) -> str:
    """Return a word of random letters, sometimes capitalized."""
    letters = random.choices(string.ascii_lowercase, k=random.randint(low, high))
    word = "".join(letters)
    return random.choice((word, word, word.upper(), word.capitalize(), word[:1] * len(word)))
