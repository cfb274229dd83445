"""Compare the two ways in which a block chooses among a few values: by JSON, and by letters.

    python bench/decisions.py --banking banking77_test.csv --out FILE     asks what FILE lacks
    python bench/decisions.py --out FILE --report                         only prints the figures

Each case is asked in four forms: `json`, `letters` (the option `decide`), `rotated` (the values in
another order) and `strict` (without the letter for "none of these can be said"). A line of FILE is
one answer, without the text, so that a run can be continued. `--banking` is the test set of
Banking77 (Casanueva et al. 2020), of which ten intents with 20 questions each are asked; the other
cases are in decisions.csv: sentiment, facts, and the e-mails of the benchmark.

decisions.jsonl has the answers of Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, llama.cpp) to all cases. The
machine was busy with other work, so that its seconds cannot be compared.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import njrt
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njc.measure.calibration import (
    compute_brier,
    compute_calibration_error,
    format_calibration,
)
from njc.measure.pass_rates import compute_sign_test

ROW = 20
FORMS: Mapping[str, Mapping[str, Any]] = {
    "json": {},
    "letters": {"decide": True},
    "rotated": {"decide": True},
    "strict": {"decide": True, "authority": "strict"},
}
EMAIL = '''
class Category(Enum):
    ORDER = "wants to buy something"
    COMPLAINT = "is unhappy with something bought"
    INVOICE = "is about a bill or a payment"
    APPLICATION = "looks for a job here"


class NoFittingCategory(ValueError):
    """An e-mail fits none of the categories."""
'''
TASKS = {
    "banking": "Put into <:answer: Literal[{values}]> "
    "what the customer of a bank asks for in <text>.",
    "sentiment": "Put into <:answer: Literal[{values}]> the feeling that <text> expresses.",
    "fact": "Decide whether <text> is true, and say so in <:answer: bool>.",
    "email": "Find the <:answer: Category> of <Category> that fits <text>; "
    "raise <NoFittingCategory> if none of them does.",
}


@dataclass(frozen=True)
class Case:
    """A text, and its right answer."""

    task: str
    number: int
    text: str
    expected: str


@dataclass(frozen=True)
class Line:
    """The answer to a case in one form; `probability` is the least of its questions."""

    task: str
    number: int
    form: str
    answer: str
    is_right: bool
    probability: float | None
    calls: int
    input: int
    output: int
    seconds: float


def read_banking(path: Path) -> Iterator[Case]:
    """Yield 20 questions for each of ten intents."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    intents = sorted({row["category"] for row in rows})[::7][:10]
    chosen = {each: [row["text"] for row in rows if row["category"] == each] for each in intents}
    for round_number in range(20):
        for number, (intent, texts) in enumerate(chosen.items(), 10 * round_number):
            yield Case("banking", number, texts[round_number], intent)


def read_own() -> Iterator[Case]:
    """Yield the cases beside this file."""
    with Path(__file__).with_name("decisions.csv").open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            yield Case(row["task"], number, row["text"], row["expected"])


def load_program(task: str, values: Iterable[str]) -> ModuleType:
    """Return the compiled program of a task, with its values in this order."""
    prompt = TASKS[task].format(values=", ".join(map(repr, values)))
    head = f"from enum import Enum\nfrom typing import Literal\n{EMAIL}\n\ndef ask(text: str):\n"
    text = f'{head}    """natural\n    {prompt}\n    """\n    return answer\n'
    output = compile_source(SourceFile(f"{task}.njpy", text.encode())).output
    assert output is not None
    module = sys.modules[f"decisions_{task}"] = ModuleType(f"decisions_{task}")
    exec(output.decode(), vars(module))
    return module


def ask(case: Case, form: str, program: ModuleType) -> Line:
    """Ask one case in one form."""
    with njrt.using(**FORMS[form]), njrt.watch() as watch:
        try:
            answer = program.ask(case.text)
        except (njrt.NaturalError, ValueError) as error:
            answer = error
    shown = {True: "yes", False: "no"}.get(answer) if isinstance(answer, bool) else None
    shown = shown or getattr(answer, "name", None) or answer
    shown = type(shown).__name__ if isinstance(shown, Exception) else str(shown)
    used = watch.totals
    return Line(
        *(case.task, case.number, form, shown, shown == case.expected),
        watch.runs[-1].certainty if watch.runs else None,
        *(used.calls, used.input_tokens, used.output_tokens, round(used.seconds, 3)),
    )


def measure(cases: list[Case], out: Path) -> None:
    """Ask the cases that are not in the file, and append their lines."""
    done = {(line.task, line.number, line.form) for line in read_lines(out)}
    tasks = {case.task for case in cases}
    values = {
        task: list(dict.fromkeys(case.expected for case in cases if case.task == task))
        for task in tasks
    }
    programs = {task: load_program(task, found) for task, found in values.items()}
    rotated = {task: load_program(task, [*found[1:], found[0]]) for task, found in values.items()}
    with out.open("a", encoding="utf-8") as file:
        # Some cases in a row in the same form: servers keep the beginning of the last prompt.
        rows = [cases[start : start + ROW] for start in range(0, len(cases), ROW)]
        for row in rows:
            for form, case in itertools.product(FORMS, row):
                has_no_order = form == "rotated" and case.task in ("fact", "email")
                if has_no_order or (case.task, case.number, form) in done:
                    continue
                line = ask(case, form, (rotated if form == "rotated" else programs)[case.task])
                file.write(json.dumps(asdict(line)) + "\n")
                file.flush()


def read_lines(path: Path) -> list[Line]:
    """Return the lines of a file; none if there is no file."""
    if not path.exists():
        return []
    return [Line(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def report(lines: list[Line]) -> Iterator[str]:
    """Yield the figures of each task and form."""
    tasks = dict.fromkeys(line.task for line in lines)
    for task in tasks:
        by_form = {
            form: {it.number: it for it in lines if it.task == task and it.form == form}
            for form in FORMS
        }
        yield f"{task}"
        for form, found in by_form.items():
            if found:
                yield f"  {form:8} {describe(list(found.values()))}"
        base = by_form["json"]
        for form in ("letters", "rotated", "strict"):
            if both := base.keys() & by_form[form].keys():
                yield f"  {compare(form, [(base[it], by_form[form][it]) for it in both])}"
        answered = [
            (it.probability, it.is_right) for it in by_form["letters"].values() if it.probability
        ]
        yield format_calibration("letters", answered)


def describe(lines: list[Line]) -> str:
    """Return how many answers are right, what they cost, and how well their probabilities fit."""
    right, count = sum(it.is_right for it in lines), len(lines)
    tokens = sum(it.output for it in lines) / count
    text = f"{right} of {count} right ({right / count:.3f}), {tokens:.1f} tokens out"
    calls, seconds = (sum(it.calls for it in lines), sum(it.seconds for it in lines))
    text += f", {calls / count:.2f} calls, {seconds / count:.2f} s"
    known = [(it.probability, it.is_right) for it in lines if it.probability is not None]
    if known:
        text += f", Brier {compute_brier(known):.3f}, ECE {compute_calibration_error(known):.3f}"
    return text


def compare(form: str, pairs: list[tuple[Line, Line]]) -> str:
    """Return a paired comparison with the JSON form."""
    better = sum(other.is_right and not base.is_right for base, other in pairs)
    worse = sum(base.is_right and not other.is_right for base, other in pairs)
    p = compute_sign_test(better, worse)
    ratio = sum(other.seconds for _, other in pairs) / sum(base.seconds for base, _ in pairs)
    found = f"{len(pairs)} pairs: better {better}, worse {worse}, p = {p:.2f}"
    return f"{form} against json, {found}; {ratio:.2f} of the time"


def main() -> None:
    """Ask what is missing, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--banking", type=Path)
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    if not given.report:
        cases = [*read_own(), *(read_banking(given.banking) if given.banking else ())]
        measure(cases, given.out)
    print("\n".join(report(read_lines(given.out))))


if __name__ == "__main__":
    main()
