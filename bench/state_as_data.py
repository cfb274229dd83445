"""Blocks that change objects: by code, or with the new state as data, which Python merges into the old one.

    NJC_BASE_URL=http://127.0.0.1:8000/v1 python bench/state_as_data.py --model openai/local --out results.jsonl

    program              checks     code    state
    ...
    all                      41      ...

`code` is the program as its author writes it: the block gets code. In `state` the same text goes on with "Put into
<:tasks_after: list[TaskAfter]> the whole of <tasks> as it is after that", so the block answers with data, and `merge` changes
the objects in place: an item of a list is the item of the old list with the same first field. `TaskAfter` is a class of its own,
as an output is never a copy of an object of the program. These are five programs of SPSBench, with its checks, and ten of this
file. Three others of SPSBench bind functions or call methods, which is no data.

The same command continues an interrupted run. `--show FILE` prints the table of results.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import njrt
from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njrt.models.model import Model
from njrt.observability.accounts import Totals
from spsbench.suite import load_task, make_program_module, read_program_source
from spsbench.task import Case, Check, check_case

FORMS = ("code", "state")
LIMITS: Mapping[str, Any] = {
    "max_calls": 8,
    "max_seconds": 300.0,
    "max_reply_tokens": 700,
    "temperature": 0.0,
}


def merge(old: Any, new: Any) -> Any:
    """Give the old object the state of the new one, in place where it can be, and return it."""
    if isinstance(old, list) and isinstance(new, list):
        known = {_read_key(item): item for item in old}
        old[:] = [
            merge(known[_read_key(item)], item) if _read_key(item) in known else item
            for item in new
        ]
        return old
    if isinstance(old, dict) and isinstance(new, dict):
        merged = {
            key: merge(old[key], value) if key in old else value for key, value in new.items()
        }
        old.clear()
        old.update(merged)
        return old
    if isinstance(old, set) and isinstance(new, set):
        old.intersection_update(new)
        old.update(new)
        return old
    if dataclasses.is_dataclass(old) and isinstance(new, type(old)):
        for field in dataclasses.fields(old):
            setattr(old, field.name, merge(getattr(old, field.name), getattr(new, field.name)))
        return old
    return new


def _read_key(item: Any) -> Any:
    """Return what an item is known by: its first field or value, or its text."""
    if dataclasses.is_dataclass(item):
        return repr(getattr(item, dataclasses.fields(item)[0].name))
    if isinstance(item, dict) and item:
        return repr(next(iter(item.values())))
    return repr(item)


@dataclasses.dataclass(frozen=True)
class Program:
    """A program with one text that changes objects, and the cases that it has to pass."""

    name: str
    source: str
    changed: Mapping[str, str]
    """The variables that the text changes, with their types."""
    cases: tuple[Case, ...]

    def write(self, form: str) -> str:
        """Return the source of the program in one of the forms."""
        return self.source if form == "code" else add_state(self.source, self.changed)


def add_state(source: str, changed: Mapping[str, str]) -> str:
    """Return the program with the sentence about the new state in each block that names a changed variable."""
    head, *blocks = source.split('"""natural\n')
    kinds = re.findall(r"^class (\w+)", head, re.MULTILINE)
    own = re.compile(rf"\b({'|'.join(kinds) or '(?!)'})\b")
    written = add_classes(head, {kind for text in changed.values() for kind in own.findall(text)})
    for block in blocks:
        text, _, rest = block.partition('"""')
        indent = text.rpartition("\n")[2]
        names = [name for name in changed if f"<{name}>" in text]
        for name in names:
            kind = own.sub(r"\1After", changed[name])
            text += f"Put into <:{name}_after: {kind}> the whole of <{name}> as it is after that.\n{indent}"
        merges = "".join(f"\n{indent}merge({name}, {name}_after)" for name in names)
        form = '(effects="answer")' if names else ""
        written += f'"""natural{form}\n{text}"""{merges}{rest}'
    return written


def add_classes(head: str, kinds: Iterable[str]) -> str:
    """Return the start of a program, up to its first block, with a class for the new state of each of these kinds."""
    for kind in kinds:
        before, function, after = head.rpartition("\ndef ")
        head = f"{before}\nclass {kind}After({kind}):\n    pass\n\n\n{function.strip()} {after}"
    return head


def load(source: str, name: str) -> ModuleType:
    """Compile a program and run its module."""
    compilation = compile_source(SourceFile(f"{name}.njpy", source.encode()))
    assert compilation.output is not None, compilation.diagnostics
    module = make_program_module(f"state_as_data_{name}", compilation.output, f"{name}.py")
    module.__dict__["merge"] = merge
    return module


# ── five programs of SPSBench ────────────────────────────────────────────────────────────────────

SPSBENCH: Mapping[str, Mapping[str, str]] = {
    "battle": {"enemies": "list[Enemy]"},
    "fact_checking": {"results": "list[FactCheck]"},
    "menu": {"inventory": "dict[str, int]"},
    "task_completion": {"tasks": "list[Task]"},
}

HEALTH_JUMPS = '''\
        Break if the patient has nothing more to say.
        Continue if no dose is missing. Else save a <:question: str> to the patient that asks for it.
        """
'''
HEALTH_STATE = '''\
        Put into <:record_after: HealthRecordAfter> the whole of <record> as it is after that.
        Put into <:then: Literal["break", "continue", "ask"]> "break" if the patient has nothing more to say,
        "continue" if no dose is missing, else "ask". If it is "ask", put into <:question: str | None> a question
        to the patient that asks for the dose.
        """
        merge(record, record_after)
        if then == "break":
            break
        if then == "continue":
            continue
'''


@dataclasses.dataclass(frozen=True)
class HealthProgram(Program):
    """The program of SPSBench with jumps: the new state comes before them."""

    def write(self, form: str) -> str:
        if form == "code":
            return self.source
        assert HEALTH_JUMPS in self.source
        head = self.source.replace(
            "from dataclasses", "from typing import Literal\nfrom dataclasses", 1
        )
        head = head.replace('"""natural\n', '"""natural(effects="answer")\n')
        start, mark, rest = head.partition('"""natural(')
        return (
            add_classes(start, ["HealthRecord"]) + mark + rest.replace(HEALTH_JUMPS, HEALTH_STATE)
        )


def list_spsbench_programs() -> Iterator[Program]:
    """Yield the programs of SPSBench that change data alone."""
    for name, changed in SPSBENCH.items():
        yield Program(
            name, read_program_source(name, "natural.njpy"), changed, load_task(name).cases
        )
    health = "health_data"
    yield HealthProgram(
        health, read_program_source(health, "natural.njpy"), {}, load_task(health).cases
    )


# ── ten small programs ───────────────────────────────────────────────────────────────────────────


def make_program(
    name: str, head: str, parameters: str, text: str, changed: Mapping[str, str], *cases: Case
) -> Program:
    """Return a program with a function `change`, whose body is one block."""
    lines = textwrap.indent(text, "    ")
    source = f'{textwrap.dedent(head)}\n\ndef change({parameters}) -> None:\n    """natural\n{lines}\n    """\n'
    return Program(name, source, changed, cases)


def make_case(
    name: str, start: Callable[[ModuleType], Any], end: Callable[[Any], bool], *inputs: Any
) -> Case:
    """Return a case: the object at the start, the other inputs, and a test of the same object at the end."""

    def play(program: ModuleType) -> Any:
        changed = start(program)
        program.change(changed, *inputs)
        return changed

    return Case(name, play, (Check("the state is right", end),))


DATACLASS = "from dataclasses import dataclass, field"

SMALL_PROGRAMS = (
    make_program(
        "stock",
        DATACLASS + "\n\n\n@dataclass\nclass Item:\n    name: str\n    count: int",
        "items: list[Item], delivery: str",
        "Add the <delivery> to the counts of the <items>.",
        {"items": "list[Item]"},
        make_case(
            "two kinds",
            lambda program: [
                program.Item("pear", 3),
                program.Item("fig", 0),
                program.Item("plum", 7),
            ],
            lambda items: [item.count for item in items] == [5, 4, 7],
            "Here are two pears and four figs.",
        ),
        make_case(
            "one kind",
            lambda program: [
                program.Item("pear", 3),
                program.Item("fig", 0),
                program.Item("plum", 7),
            ],
            lambda items: [item.count for item in items] == [3, 0, 10],
            "Only a box with three plums came today.",
        ),
    ),
    make_program(
        "moods",
        DATACLASS + '\n\n\n@dataclass\nclass Review:\n    text: str\n    mood: str = "unknown"',
        "reviews: list[Review]",
        'Set the `mood` of each of the <reviews> to "good" or "bad".',
        {"reviews": "list[Review]"},
        make_case(
            "two of each",
            lambda program: [
                program.Review(text)
                for text in (
                    "A joy from start to end.",
                    "I want my money back.",
                    "We will come again!",
                    "Cold and late.",
                )
            ],
            lambda reviews: [review.mood for review in reviews] == ["good", "bad", "good", "bad"],
        ),
        make_case(
            "without words of mood",
            lambda program: [
                program.Review(text)
                for text in ("It broke on the first day.", "My children will not put it down.")
            ],
            lambda reviews: [review.mood for review in reviews] == ["bad", "good"],
        ),
    ),
    make_program(
        "animals",
        "",
        "names: list[str]",
        "Remove from <names> what is no animal.",
        {"names": "list[str]"},
        make_case(
            "mixed",
            lambda program: ["otter", "hammer", "wren", "teapot"],
            lambda names: names == ["otter", "wren"],
        ),
        make_case(
            "nothing to do",
            lambda program: ["heron", "mole"],
            lambda names: names == ["heron", "mole"],
        ),
    ),
    make_program(
        "prices",
        "",
        "prices: dict[str, float], news: str",
        "Change the <prices> as the <news> say.",
        {"prices": "dict[str, float]"},
        make_case(
            "one price",
            lambda program: {"tea": 2.0, "coffee": 3.0, "cake": 4.5},
            lambda prices: prices == {"tea": 2.0, "coffee": 3.5, "cake": 4.5},
            "Coffee is fifty cents dearer from Monday on.",
        ),
        make_case(
            "a new one",
            lambda program: {"tea": 2.0, "coffee": 3.0},
            lambda prices: prices == {"tea": 2.0, "coffee": 3.0, "juice": 2.5},
            "We now have juice for two and a half.",
        ),
    ),
    make_program(
        "urgent",
        DATACLASS
        + "\n\n\n@dataclass\nclass Ticket:\n    number: int\n    text: str\n    urgent: bool = False",
        "tickets: list[Ticket]",
        "Mark the urgent ones of the <tickets>.",
        {"tickets": "list[Ticket]"},
        make_case(
            "one",
            lambda program: [
                program.Ticket(1, "How do I change the colour of the background?"),
                program.Ticket(2, "The shop is down and nobody can pay!"),
                program.Ticket(3, "A typing error on the page about us."),
            ],
            lambda tickets: [ticket.urgent for ticket in tickets] == [False, True, False],
        ),
        make_case(
            "all",
            lambda program: [
                program.Ticket(1, "We lost all data of our customers, help!"),
                program.Ticket(2, "There is smoke in the server room, come at once."),
            ],
            lambda tickets: [ticket.urgent for ticket in tickets] == [True, True],
        ),
    ),
    make_program(
        "guests",
        "",
        "guests: set[str], message: str",
        "Change the <guests> by the <message>.",
        {"guests": "set[str]"},
        make_case(
            "one more, one less",
            lambda program: {"Ada", "Kurt", "Emmy"},
            lambda guests: guests == {"Ada", "Emmy", "Sofia"},
            "Kurt cannot come, but Sofia can.",
        ),
        make_case(
            "nobody",
            lambda program: {"Ada", "Kurt"},
            lambda guests: guests == {"Ada", "Kurt"},
            "What a lovely idea, we all look forward to it!",
        ),
    ),
    make_program(
        "person",
        DATACLASS
        + "\n\n\n@dataclass\nclass Person:\n    name: str\n    city: str\n    languages: list[str] = field(default_factory=list)",
        "person: Person, note: str",
        "Update the <person> by the <note>.",
        {"person": "Person"},
        make_case(
            "moved",
            lambda program: program.Person("Ida", "Turin", ["Italian"]),
            lambda person: (person.city, person.languages) == ("Lyon", ["Italian"]),
            "Ida lives in Lyon since May.",
        ),
        make_case(
            "learned",
            lambda program: program.Person("Ida", "Turin", ["Italian"]),
            lambda person: (person.city, person.languages) == ("Turin", ["Italian", "Danish"]),
            "She now speaks Danish, too.",
        ),
    ),
    make_program(
        "spelling",
        "",
        "words: list[str]",
        "Correct the spelling of the <words>, in place.",
        {"words": "list[str]"},
        make_case(
            "two wrong",
            lambda program: ["recieve", "house", "definately"],
            lambda words: words == ["receive", "house", "definitely"],
        ),
        make_case(
            "all right", lambda program: ["tree", "river"], lambda words: words == ["tree", "river"]
        ),
    ),
    make_program(
        "seats",
        "",
        "seats: dict[str, str | None], request: str",
        "Do in <seats>, from seat to passenger, what the <request> asks for.",
        {"seats": "dict[str, str | None]"},
        make_case(
            "taken",
            lambda program: {"1A": "Ada", "1B": None, "2A": None},
            lambda seats: seats == {"1A": "Ada", "1B": "Emmy", "2A": None},
            "Emmy would like to sit beside Ada in row 1.",
        ),
        make_case(
            "freed",
            lambda program: {"1A": "Ada", "1B": "Kurt", "2A": None},
            lambda seats: seats == {"1A": "Ada", "1B": None, "2A": None},
            "Kurt has cancelled his flight.",
        ),
    ),
    make_program(
        "translations",
        "",
        "words: dict[str, str]",
        "Replace each empty value of <words> by the French of its key, in lower case.",
        {"words": "dict[str, str]"},
        make_case(
            "two",
            lambda program: {"house": "", "dog": "chien", "water": ""},
            lambda words: words == {"house": "maison", "dog": "chien", "water": "eau"},
        ),
        make_case(
            "none", lambda program: {"dog": "chien"}, lambda words: words == {"dog": "chien"}
        ),
    ),
)


def list_programs() -> Iterator[Program]:
    """Yield the programs of SPSBench and the small ones."""
    yield from list_spsbench_programs()
    yield from SMALL_PROGRAMS


# ── running ──────────────────────────────────────────────────────────────────────────────────────


def play(program: Program, form: str, model: str | Model) -> dict[str, Any]:
    """Return the result of a program in one form, as a line of the results."""
    module = load(program.write(form), program.name)
    began = time.monotonic()
    checks: dict[str, bool] = {}
    errors: list[str] = []
    with njrt.using(model=model, cache=False, **LIMITS), njrt.watch() as watch:
        for case in program.cases:
            for result in check_case(case, module):
                checks[f"{case.name}: {result.check}"] = result.passed
                errors += [str(result.error)] if result.error else []
    used = sum((run.totals for run in watch.runs), Totals())
    return {
        "date": date.today().isoformat(),
        "program": program.name,
        "form": form,
        "model": str(model),
        "checks": checks,
        "errors": errors,
        "calls": used.calls,
        "tokens": used.tokens,
        "seconds": round(time.monotonic() - began, 1),
    }


def read_results(file: Path) -> list[dict[str, Any]]:
    """Return the lines of a results file; none if it does not exist."""
    return (
        [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        if file.exists()
        else []
    )


def format_table(results: list[dict[str, Any]]) -> str:
    """Return the passed checks, and the means of calls and tokens, by program and form."""
    found = {(line["program"], line["form"]): line for line in results}
    names = [
        name
        for name in dict.fromkeys(name for name, _ in found)
        if all((name, form) in found for form in FORMS)
    ]
    rows = [
        f"{'program':<18}{'checks':>8}{'code':>7}{'state':>7}{'tokens by code':>17}{'by state':>11}"
    ]
    for name in [*names, "all"]:
        of = [
            [found[each, form] for each in (names if name == "all" else [name])] for form in FORMS
        ]
        passed = [sum(sum(line["checks"].values()) for line in lines) for lines in of]
        tokens = [sum(line["tokens"] for line in lines) for lines in of]
        count = sum(len(line["checks"]) for line in of[0])
        rows.append(
            f"{name:<18}{count:>8}{passed[0]:>7}{passed[1]:>7}{tokens[0]:>17,}{tokens[1]:>11,}"
        )
    return "\n".join(rows)


def main() -> None:
    """Run each program in both forms, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", help="the model, as openai/NAME")
    parser.add_argument("--out", type=Path, help="the file of results, JSON Lines")
    parser.add_argument("--show", type=Path, help="print the table of a file")
    options = parser.parse_args()
    if options.show is not None:
        print(format_table(read_results(options.show)))
        return
    if options.model is None or options.out is None:
        print(
            "state_as_data: give --model and --out, and that model runs each program in both forms"
        )
        return
    done = {(line["program"], line["form"]) for line in read_results(options.out)}
    for program in list_programs():
        for form in FORMS:
            if (program.name, form) in done:
                continue
            line = play(program, form, options.model)
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            print(
                f"{program.name} {form}: {sum(line['checks'].values())} of {len(line['checks'])}, {line['seconds']} s",
                flush=True,
            )
    print(format_table(read_results(options.out)))


if __name__ == "__main__":
    main()
