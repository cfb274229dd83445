"""`njc tune` on four tasks with public data: what it chooses, and what that gains on held-out cases.

    python bench/tuning.py WORK --model openai/local --cruxeval cruxeval.jsonl --sentiment imdb_labelled.txt \\
        --routing banking77.csv --extraction train_BookRestaurant.json

    cruxeval     the result of a call of a Python function (Gu et al. 2024, https://arxiv.org/abs/2401.03065)
    sentiment    sentences of reviews (Kotzias et al. 2015)
    routing      questions to a bank, ten of 77 intents (Casanueva et al. 2020, https://arxiv.org/abs/2003.04807)
    extraction   the city and the number of people of a reservation (Coucke et al. 2018, https://arxiv.org/abs/1805.10190)

Each task is a program and two files of cases in WORK, made of the data, of which none is part of this project. A task whose
data is not given is left out. An interrupted run continues. Without arguments it only says what to give.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Case = dict[str, Any]

CRUXEVAL = '''\
import ast


def predict(code: str, arguments: str) -> str:
    """natural
    Put into <:result: str> the value of the call `f(<arguments>)` of the function in <code>, as Python writes it.
    """
    return result


def is_same(found: str, expected: str) -> bool:
    value = ast.literal_eval(expected)
    try:
        return bool(ast.literal_eval(found) == value)
    except (ValueError, SyntaxError):
        return bool(found == value)  # a text without its quotes
'''

SENTIMENT = '''\
from typing import Literal


def judge(sentence: str) -> str:
    """natural
    Put into <:mood: Literal["positive", "negative"]> what the author of <sentence> thinks.
    """
    return mood
'''

INTENTS = (
    "card_arrival",
    "card_delivery_estimate",
    "card_not_working",
    "card_payment_not_recognised",
    "card_payment_wrong_exchange_rate",
    "cash_withdrawal_not_recognised",
    "declined_card_payment",
    "exchange_rate",
    "lost_or_stolen_card",
    "pending_card_payment",
)

ROUTING = f'''\
from typing import Literal

Intent = Literal[{", ".join(f'"{intent}"' for intent in INTENTS)}]


def route(question: str) -> str:
    """natural
    Put into <:intent: Intent> what the customer of a bank asks about in <question>.
    """
    return intent
'''

EXTRACTION = '''\
def read(request: str) -> dict[str, object]:
    """natural
    Put into <:city: str | None> the city and into <:people: int | None> the number of people for which <request> asks
    for a table. What it does not say is None.
    """
    return {"city": city.lower() if city else None, "people": people}
'''

TARGETS = {
    "cruxeval": (CRUXEVAL, "predict"),
    "sentiment": (SENTIMENT, "judge"),
    "routing": (ROUTING, "route"),
    "extraction": (EXTRACTION, "read"),
}


def read_cruxeval(file: Path) -> Iterator[Case]:
    """Yield the problems whose result can be written as a literal."""
    for line in file.read_text(encoding="utf-8").splitlines():
        problem = json.loads(line)
        ast.literal_eval(problem["output"])
        check = f"is_same(result, {problem['output']!r})"
        yield {
            "inputs": {"code": problem["code"], "arguments": problem["input"]},
            "check": check,
        }


def read_sentiment(file: Path) -> Iterator[Case]:
    """Yield the sentences, each with its label."""
    for line in file.read_text(encoding="utf-8").splitlines():
        sentence, _, label = line.rpartition("\t")
        mood = "positive" if label.strip() == "1" else "negative"
        yield {"inputs": {"sentence": sentence.strip()}, "expect": mood}


def read_routing(file: Path) -> Iterator[Case]:
    """Yield the questions of the chosen intents."""
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["category"] in INTENTS:
                yield {"inputs": {"question": row["text"]}, "expect": row["category"]}


def read_extraction(file: Path) -> Iterator[Case]:
    """Yield the requests that give the number of people as a number, and those that say nothing of it."""
    for request in json.loads(file.read_bytes().decode("latin-1"))["BookRestaurant"]:
        parts = request["data"]
        slots = {part["entity"]: part["text"].strip() for part in parts if "entity" in part}
        people = slots.get("party_size_number", "")
        if "party_size_description" not in slots and (not people or people.isdecimal()):
            city = slots.get("city", "").lower() or None
            expected = {"city": city, "people": int(people) if people else None}
            text = "".join(part["text"] for part in parts)
            yield {"inputs": {"request": text}, "expect": expected}


READERS: dict[str, Callable[[Path], Iterator[Case]]] = {
    "cruxeval": read_cruxeval,
    "sentiment": read_sentiment,
    "routing": read_routing,
    "extraction": read_extraction,
}


def write_task(folder: Path, name: str, data: Path, counts: tuple[int, int]) -> None:
    """Write the program of a task, and its cases in an order that depends on nothing but the data."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.njpy").write_text(TARGETS[name][0], encoding="utf-8")
    cases = [json.dumps(case, ensure_ascii=False) for case in READERS[name](data)]
    cases = list(dict.fromkeys(cases))
    random.Random(0).shuffle(cases)
    for part, chosen in (
        ("choose", cases[: counts[0]]),
        ("check", cases[counts[0] : sum(counts)]),
    ):
        (folder / f"{part}.jsonl").write_text("\n".join(chosen) + "\n", encoding="utf-8")


def main() -> None:
    """Write the tasks whose data is given, and tune each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--choose", type=int, default=60, help="cases to choose on")
    parser.add_argument("--check", type=int, default=60, help="cases to check on")
    parser.add_argument("--confidence", default="0.95")
    for name in TARGETS:
        parser.add_argument(f"--{name}", type=Path)
    if len(sys.argv) == 1:
        print("tuning: give WORK, --model and data, and `njc tune` runs on it")
        return
    options = parser.parse_args()
    for name, (_, function) in TARGETS.items():
        if (data := getattr(options, name)) is None:
            continue
        folder = options.work / name
        write_task(folder, name, data, (options.choose, options.check))
        print(f"== {name}", flush=True)
        command = [sys.executable, "-m", "njc", "tune", f"{folder / name}.njpy:{function}"]
        command += [str(folder / "choose.jsonl"), "--held-out", str(folder / "check.jsonl")]
        command += ["--model", options.model, "--confidence", options.confidence]
        subprocess.run(command, check=False)


if __name__ == "__main__":
    main()
