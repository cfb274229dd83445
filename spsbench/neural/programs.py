"""Random programs with calls, as a source of trajectories.

    write_program(Random(1))      GeneratedProgram("def add(n, k):\\n    ...", "main(4, 2)")

    plain       functions with arithmetic and conditions
    recursion   over numbers and lists
    closure     an inner function that changes a variable of the outer one
    generator   consumed by a loop, by `next`, by `list`
    exception   raised in one function, handled in another one or in none
    method      a class with state
    data        loops over lists, strings and dictionaries

Each of these has one or two helpers and a function `main` that calls them. The other programs are
one function that uses the methods of Python's own types (`library_programs`). All programs end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from spsbench.neural.library_programs import Lines, indent, write_function

NUMBERS = ("n", "m", "k", "x", "y", "z", "i", "j", "total", "count")
NAMES = ("add", "step", "scale", "check", "find", "walk", "load", "pick", "mix", "turn")
CLASSES = ("Box", "Counter", "Account", "Timer")
WORDS = ("abc", "hello", "cat", "noon", "xyz", "tree", "ab", "data")
ERRORS = ("ValueError", "KeyError", "TypeError", "IndexError")
LIBRARY_SHARE = 0.5
"""The share of programs that are a single function using the methods of Python's own types."""


@dataclass(frozen=True, slots=True)
class GeneratedProgram:
    """A program, and the call to record."""

    source: str
    call: str


@dataclass(slots=True)
class _Writer:
    """Writes one program (state: its helpers, their possible uses in `main`, and taken names)."""

    random: Random
    helpers: Lines = field(default_factory=list)
    uses: list[Callable[[str, str], Lines]] = field(default_factory=list)
    """Each returns statements that assign to the first name and read the second."""
    taken: set[str] = field(default_factory=set)

    def choose(self, texts: Sequence[str], unless: str = "") -> str:
        return self.random.choice([text for text in texts if text != unless])

    def make_name(self, names: Sequence[str]) -> str:
        name = self.choose([name for name in names if name not in self.taken])
        self.taken.add(name)
        return name

    def pick_numbers(self, count: int) -> list[str]:
        """Return distinct variable names."""
        return self.random.sample(NUMBERS, count)

    def number(self, low: int = 1, high: int = 9) -> int:
        return self.random.randint(low, high)

    def expression(self, *names: str) -> str:
        left = self.choose(names)
        right = self.choose((*names, str(self.number()), str(self.number())))
        operator = self.choose(("+", "+", "-", "-", "*", "%", "//"))
        if operator in ("%", "//") and not right.isdigit():
            right = str(self.number(2, 5))
        return f"{left} {operator} {right}"

    def condition(self, *names: str) -> str:
        if self.random.random() < 0.3:
            return f"{self.choose(names)} % 2 == {self.number(0, 1)}"
        left = self.choose(names)
        others = [name for name in names if name != left]
        return (
            f"{left} {self.choose(('>', '<', '==', '>='))}"
            f" {self.choose((*others, str(self.number())))}"
        )

    def statements(self, count: int, *names: str) -> Lines:
        """Return unindented assignments, some of them conditional."""
        lines: Lines = []
        for _ in range(count):
            name = self.choose(names)
            match self.random.randint(0, 3):
                case 0:
                    lines += [
                        f"if {self.condition(*names)}:",
                        f"    {name} = {self.expression(*names)}",
                    ]
                    if self.random.random() < 0.5:
                        lines += ["else:", f"    {name} = {self.expression(*names)}"]
                case 1:
                    lines.append(f"{name} {self.choose(('+=', '-='))} {self.number()}")
                case _:
                    lines.append(f"{name} = {self.expression(*names)}")
        return lines


def write_program(random: Random) -> GeneratedProgram:
    """Return a program determined by the random numbers."""
    if random.random() < LIBRARY_SHARE:
        lines, arguments = write_function(random)
        return GeneratedProgram("\n".join(lines) + "\n", f"f({', '.join(arguments)})")
    return _write_calls(random)


def _write_calls(random: Random) -> GeneratedProgram:
    writer = _Writer(random)
    for add_family in random.sample(FAMILIES, random.choice((1, 1, 2))):
        add_family(writer)
    first, second = writer.pick_numbers(2)
    others = [name for name in NUMBERS if name not in (first, second)]
    result, more = random.sample(others, 2)
    body: Lines = []
    if random.random() < 0.4:
        body += writer.statements(1, first, second)
    uses = random.sample(writer.uses, min(len(writer.uses), random.choice((1, 1, 2))))
    targets = [result, more]
    for target, use in zip(targets, uses, strict=False):
        body += use(target, writer.choose((first, second)))
    made = targets[: len(uses)]
    if random.random() < 0.5:
        body += writer.statements(1, *made, first)
    body.append(f"return {writer.choose((made[-1], writer.expression(*made, second)))}")
    lines = [*writer.helpers, f"def main({first}, {second}):", *indent(body)]
    return GeneratedProgram(
        "\n".join(lines) + "\n", f"main({writer.number(0, 12)}, {writer.number(0, 9)})"
    )


def _add_plain(writer: _Writer) -> None:
    name, (one, two, made) = writer.make_name(NAMES), writer.pick_numbers(3)
    body = [
        f"{made} = {writer.expression(one, two)}",
        *writer.statements(writer.number(1, 2), made, one),
    ]
    body.append(f"return {writer.choose((made, writer.expression(made, two)))}")
    writer.helpers += [f"def {name}({one}, {two}):", *indent(body)]
    writer.uses += [
        lambda target, read: [f"{target} = {name}({read}, {writer.number()})"],
        lambda target, read: [
            f"{target} = {name}({writer.number()}, {read}) + {name}({read}, {writer.number()})"
        ],
    ]


def _add_recursion(writer: _Writer) -> None:
    name, (one, two) = writer.make_name(NAMES), writer.pick_numbers(2)
    low, step = writer.number(0, 1), writer.number(1, 2)
    kind = writer.choose(("one", "two", "kept", "list", "double"))
    head, call = f"def {name}({one}):", f"{name}({one} - {step})"
    limit = writer.number(3, 6)
    given = f"{{read}} % {limit}"
    match kind:
        case "one":
            operator = writer.choose(("+", "+", "-", "*"))
            body = [
                f"if {one} <= {low}:",
                f"    return {writer.number()}",
                f"return {one} {operator} {call}",
            ]
        case "kept":
            body = [
                f"if {one} <= {low}:",
                f"    return {one}",
                f"{two} = {call}",
                f"return {writer.expression(two, one)}",
            ]
        case "double":
            given = f"{{read}} % {min(limit, 4)}"
            body = [
                f"if {one} < 2:",
                f"    return {one}",
                f"return {name}({one} - 1) + {name}({one} - 2)",
            ]
        case "two":
            head, given = f"def {name}({one}, {two}):", f"{limit}, {{read}}"
            body = [
                f"if {one} <= {low}:",
                f"    return {two}",
                f"return {name}({one} - {step}, {writer.expression(two, one)})",
            ]
        case _:
            head = f"def {name}(items):"
            body = [
                "if not items:",
                f"    return {low}",
                f"return items[0] {writer.choose(('+', '-'))} {name}(items[1:])",
            ]
            values = [writer.number() for _ in range(writer.number(1, 3))]
            given = f"[{{read}}, {', '.join(map(str, values))}]"
    writer.helpers += [head, *indent(body)]
    writer.uses.append(lambda target, read: [f"{target} = {name}({given.format(read=read)})"])


def _add_closure(writer: _Writer) -> None:
    name, inner = writer.make_name(NAMES), writer.make_name(NAMES)
    kept, given = writer.pick_numbers(2)
    if writer.random.random() < 0.6:
        body = [
            f"def {inner}({given}):",
            f"    nonlocal {kept}",
            f"    {kept} {writer.choose(('+=', '-='))} {given}",
            f"    return {kept}",
        ]
    else:
        body = [f"def {inner}({given}):", f"    return {writer.expression(given, kept)}"]
    writer.helpers += [f"def {name}({kept}):", *indent([*body, f"return {inner}"])]
    writer.uses += [
        lambda target, read: [
            f"f = {name}({read})",
            f"{target} = f({writer.number()}) + f({writer.number()})",
        ],
        lambda target, read: [
            f"f = {name}({writer.number()})",
            f"{target} = f({read})",
            f"{target} += f({target})",
        ],
    ]


def _add_generator(writer: _Writer) -> None:
    name, (limit, index) = writer.make_name(NAMES), writer.pick_numbers(2)
    if writer.random.random() < 0.6:
        body = [f"for {index} in range({limit}):", f"    yield {writer.expression(index, limit)}"]
    else:
        body = [
            f"while {limit} > 0:",
            f"    yield {limit}",
            f"    {limit} -= {writer.number(1, 2)}",
        ]
    writer.helpers += [f"def {name}({limit}):", *indent(body)]
    size = writer.number(2, 3)
    writer.uses += [
        lambda target, read: [
            f"{target} = {read}",
            f"for v in {name}({size}):",
            f"    {target} {writer.choose(('+=', '-='))} v",
        ],
        lambda target, read: [
            f"items = list({name}({size}))",
            f"{target} = len(items) {writer.choose(('+', '-', '*'))} {read}",
        ],
        lambda target, read: [
            f"it = {name}({size})",
            f"{target} = next(it)",
            f"{target} += next(it, {read})",
        ],
    ]


def _add_exception(writer: _Writer) -> None:
    name, (one, two) = writer.make_name(NAMES), writer.pick_numbers(2)
    error = writer.choose(ERRORS)
    body = [f"if {writer.condition(one)}:", f"    raise {error}({one})"]
    body += [f"{two} = {writer.expression(one)}", f"return {two}"]
    writer.helpers += [f"def {name}({one}):", *indent(body)]
    called = name
    if writer.random.random() < 0.5:
        called = writer.make_name(NAMES)
        body = [f"{one} = {name}({two})", f"return {one} + {writer.number()}"]
        if writer.random.random() < 0.4:
            body = ["try:", *indent(body), "finally:", f"    {two} = 0"]
        writer.helpers += [f"def {called}({two}):", *indent(body)]
    caught = error if writer.random.random() < 0.85 else writer.choose(ERRORS)
    writer.uses.append(
        lambda target, read: [
            "try:",
            f"    {target} = {called}({read})",
            f"except {caught}:",
            f"    {target} = {writer.choose(('0', str(writer.number()), f'-{read}'))}",
        ]
    )


def _add_method(writer: _Writer) -> None:
    name, method, more = writer.make_name(CLASSES), writer.make_name(NAMES), writer.make_name(NAMES)
    given, held = writer.pick_numbers(2)
    lines = [
        f"class {name}:",
        f"    def __init__(self, {given}):",
        f"        self.{held} = {given}",
        f"    def {method}(self, {given}):",
        f"        self.{held} {writer.choose(('+=', '-='))} {given}",
    ]
    returned = writer.choose((f"self.{held}", f"self.{held} + {given}"))
    lines.append(f"        return {returned}")
    writer.helpers += lines
    writer.uses.append(
        lambda target, read: [f"b = {name}({read})", f"{target} = b.{method}({writer.number()})"]
    )
    if writer.random.random() < 0.4:
        writer.helpers += [
            f"    def {more}(self):",
            f"        return self.{method}(2) {writer.choose(('+', '*'))} {writer.number()}",
        ]
        writer.uses.append(
            lambda target, read: [
                f"b = {name}({writer.number()})",
                f"{target} = b.{more}() + {read}",
            ]
        )


def _add_data(writer: _Writer) -> None:
    name, (one, two) = writer.make_name(NAMES), writer.pick_numbers(2)
    kind = writer.choose(("filter", "map", "count", "reverse", "table"))
    values = [writer.number(0, 12) for _ in range(writer.number(2, 4))]
    argument = f"[{', '.join(map(str, values))}]"
    head = f"def {name}(items, {two}):"
    match kind:
        case "filter":
            body = [
                "found = []",
                f"for {one} in items:",
                f"    if {writer.condition(one, two)}:",
                f"        found.append({one})",
                f"return {writer.choose(('found', 'len(found)'))}",
            ]
        case "map":
            body = [
                "found = []",
                f"for {one} in items:",
                f"    found.append({writer.expression(one, two)})",
                "return found",
            ]
        case "count":
            body = [
                f"for {one} in items:",
                f"    {two} {writer.choose(('+=', '-='))} {one}",
                f"return {two}",
            ]
        case "reverse":
            argument = repr(writer.choose(WORDS))
            body = ["s = ''", "for c in items:", f"    s = {writer.choose(('c + s', 's + c + c'))}"]
            body.append(f"return {writer.choose(('s', 'len(s)'))}")
        case _:
            argument = repr(writer.choose(WORDS))
            body = [
                "seen = {}",
                "for c in items:",
                "    seen[c] = seen.get(c, 0) + 1",
                "return len(seen)",
            ]
    writer.helpers += [head, *indent(body)]
    writer.uses.append(lambda target, read: [f"{target} = {name}({argument}, {read})"])


FAMILIES: Sequence[Callable[[_Writer], None]] = (
    *(_add_plain, _add_recursion, _add_closure, _add_generator, _add_exception, _add_method),
    _add_data,
)
