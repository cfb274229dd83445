"""Cases for `njc tune` on six programs of SPSBench, other than the benchmark's own cases.

    python bench/program_cases.py WORK
    cd WORK; njc tune sentiment/natural.njpy:sentiment_of sentiment/choose.jsonl --held-out sentiment/check.jsonl --model openai/local

Each program is copied to WORK with two files of cases. A form that `njc tune` writes there is copied to
`spsbench/programs/tuned.lock`, for the method `natural-tuned` of `spsbench run`. Without arguments it only says what to give.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from spsbench.suite import read_program_source

Case = dict[str, Any]

MOODS = {
    "positive": [
        "What a lovely surprise, thank you all so much!",
        "The new bike rides like a dream.",
        "I finally passed my exam and I am over the moon.",
        "The staff went out of their way to help us.",
        "This is the best coffee in town.",
        "Our holiday could not have been better.",
        "My daughter laughed the whole evening, wonderful show.",
        "I love how quiet this laptop is.",
        "Such a relief, the surgery went well!",
        "Ten out of ten, would come again.",
    ],
    "negative": [
        "My parcel arrived broken for the third time.",
        "Wonderful, the printer jams every single morning.",
        "I have never been so bored in a cinema.",
        "The room smelled of smoke and the bed was hard.",
        "Oh perfect, another update that deletes my files.",
        "They ignored my letters for months.",
        "I regret buying this phone.",
        "Thanks a lot for waking me at five with your drill.",
        "The pizza was burnt and nobody cared.",
        "What a waste of an afternoon.",
    ],
    "neutral": [
        "The train leaves from platform four.",
        "Water boils at 100 degrees Celsius at sea level.",
        "The meeting was moved to Wednesday.",
        "There are twelve eggs in the box.",
        "Please find the minutes attached.",
        "The library has two floors.",
        "Her brother works in Lyon.",
        "The form must be signed by both parents.",
        "The bus stops here every twenty minutes.",
        "The box measures 30 by 40 centimetres.",
    ],
}

NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "five": 5,
    "seven": 7,
    "eight": 8,
    "ten": 10,
    "twelve": 12,
    "zwei": 2,
    "drei": 3,
    "sechs": 6,
    "trois": 3,
    "cinq": 5,
    "huit": 8,
    "dos": 2,
    "cuatro": 4,
    "nueve": 9,
    "due": 2,
    "sette": 7,
    "三": 3,
    "семь": 7,
    "пять": 5,
    "twenty": 20,
    "fifteen": 15,
}

FILTERS: list[tuple[list[int], str, list[int]]] = [
    ([3, -5, 8, -1], "is negative", [-5, -1]),
    ([13, 4, 9, 17], "is a prime number", [13, 17]),
    ([1066, 12, 1789, 5], "year of a famous event in European history", [1066, 1789]),
    ([24, 365, 7, 9], "how many hours a day or days a week or days a year has", [24, 365, 7]),
    ([112, 83, 911, 5512], "number of an emergency call", [112, 911]),
    ([16, 25, 30, 49], "is a perfect square", [16, 25, 49]),
    ([18, 150, 65, -3], "could be the age of a living person", [18, 65]),
    ([1, 6, 8, 3], "can be the result of one throw of an ordinary die", [1, 6, 3]),
    ([37, 36, 90, 12], "is a normal body temperature in degrees Celsius", [37, 36]),
    ([1945, 1969, 2077, 1492], "year that lies in the past", [1945, 1969, 1492]),
    ([28, 29, 35, 31], "number of days that a month can have", [28, 29, 31]),
    ([10, 100, 55, 1000], "is a power of ten", [10, 100, 1000]),
    ([404, 200, 500, 42], "an HTTP status code", [404, 200, 500]),
    ([4, 8, 15, 22], "is even", [4, 8, 22]),
    ([70, 7000, 120, 1], "a plausible speed in km/h of a car on a road", [70, 120]),
    ([88, 61, 52, 40], "number of keys of a piano or cards of a deck", [88, 52]),
    ([80, 443, 22, 70000], "a valid port number", [80, 443, 22]),
    ([5, 12, 13, 14], "is a month number", [5, 12]),
    ([0, 11, 2, 33], "has only one digit", [0, 2]),
    ([180, 25, 300, 165], "a plausible height in cm of an adult", [180, 165]),
    ([1914, 1939, 1955, 1812], "year in which a world war began", [1914, 1939]),
    ([2, 3, 50, 51], "is odd", [3, 51]),
    ([21, 14, 64, 63], "is divisible by seven", [21, 14, 63]),
    ([42, 13, 7, 99], "considered an unlucky number", [13]),
]

STOCK = {"burger": 8, "fries": 12, "cola": 9, "pie": 5}
ORDERS: list[tuple[str, dict[str, int]]] = [
    ("One burger and a cola, please.", {"burger": 1, "cola": 1}),
    ("Two pies to go.", {"pie": 2}),
    ("We are four and each of us takes fries.", {"fries": 4}),
    ("I'd like a burger, but no fries today.", {"burger": 1}),
    ("Three colas and one pie for the lady.", {"cola": 3, "pie": 1}),
    ("Could I have a portion of fries?", {"fries": 1}),
    ("Half a dozen burgers for the office.", {"burger": 6}),
    ("A cola for me and one for my son.", {"cola": 2}),
    ("Everything once, please.", {"burger": 1, "fries": 1, "cola": 1, "pie": 1}),
    ("Just looking, thanks.", {}),
    ("A pair of burgers without anything to drink.", {"burger": 2}),
    ("Please five fries and five colas.", {"fries": 5, "cola": 5}),
    ("My wife wants pie, I take a burger.", {"pie": 1, "burger": 1}),
    ("Forget the cola, bring me a pie instead.", {"pie": 1}),
    ("Two burgers, three fries, four colas.", {"burger": 2, "fries": 3, "cola": 4}),
    ("One pie. No, make that three pies!", {"pie": 3}),
    ("A burger menu: burger, fries and cola.", {"burger": 1, "fries": 1, "cola": 1}),
    ("Seven colas for the team.", {"cola": 7}),
    ("The usual: one fries, one cola.", {"fries": 1, "cola": 1}),
    ("I am on a diet, only a cola.", {"cola": 1}),
    ("Twins here: two pies and two colas.", {"pie": 2, "cola": 2}),
]

BOOKS = [
    {
        "title": "Night Trains of Europe",
        "author": "C. Roth",
        "about": "timetables and stories of sleeper trains",
        "price": 24.0,
    },
    {
        "title": "The Glass Orchard",
        "author": "M. Imai",
        "about": "a love story between two beekeepers",
        "price": 11.0,
    },
    {
        "title": "Bread from Scratch",
        "author": "T. Olsen",
        "about": "baking sourdough at home",
        "price": 19.5,
    },
    {
        "title": "Stars over Town",
        "author": "J. Adeyemi",
        "about": "watching the night sky with a small telescope",
        "price": 15.0,
    },
]
REQUESTS: list[tuple[str, int | None]] = [
    ("Something for a friend who travels by rail.", 0),
    ("I want to learn how to bake.", 2),
    ("My son got a telescope for his birthday.", 3),
    ("A romantic novel, please.", 1),
    ("Do you have books about dog training?", None),
    ("A gift for my aunt who keeps bees.", 1),
    ("How do I make a good sourdough?", 2),
    ("Which book explains the constellations?", 3),
    ("I am planning a trip in a sleeping car.", 0),
    ("I'm looking for a biography of Mozart.", None),
    ("A book for someone who has just bought an oven.", 2),
    ("Any manual for my washing machine?", None),
    ("Fiction, not more than 12 euros.", 1),
    ("For a girl who dreams of becoming an astronomer.", 3),
    ("A present for a train driver.", 0),
    ("Something with recipes.", 2),
    ("I need a dictionary of Latin.", None),
    ("What can I read about stars?", 3),
    ("A love story for the beach.", 1),
    ("A book on tax law, please.", None),
    ("My uncle collects railway timetables.", 0),
    ("Anything about chess openings?", None),
]
"""A request and the place of its book in BOOKS."""

EXPRESSIONS = [
    ("(1 + 2 * 5", "arithmetic; the result must be 15", "(1+2)*5"),
    ("4 * (2 + 1", "arithmetic", "4*(2+1)"),
    ("print('hi'", "a call in Python", "print('hi')"),
    ("max(3, min(4, 5)", "Python", "max(3,min(4,5))"),
    ("(8 - 3 * 2", "arithmetic; the result must be 10", "(8-3)*2"),
    ("[1, 2, 3", "a list in Python", "[1,2,3]"),
    ("2 * 3 + 4)", "arithmetic; the result must be 14", "2*(3+4)"),
    ("(a + b * c", "a and b must be added before the multiplication", "(a+b)*c"),
    ("len([1, 2)", "Python; the length of a list", "len([1,2])"),
    ("{'a': 1", "a dictionary in Python", "{'a':1}"),
    ("sin(x + cos(x)", "the sum of a sine and a cosine", "sin(x)+cos(x)"),
    ("10 / 2 + 3)", "arithmetic; the result must be 2", "10/(2+3)"),
    ("f(g(x)", "a function of a function", "f(g(x))"),
    ("(6 + 4 / 5", "arithmetic; the result must be 2", "(6+4)/5"),
    ("a[0", "the first item of a list", "a[0]"),
    ("(not a or b", "negate only a", "(nota)orb"),
    ("((1 + 1 * 3", "arithmetic; the result must be 6", "((1+1)*3)"),
    ("sqrt(9 + 7", "arithmetic; the result must be 4", "sqrt(9+7)"),
    ("abs(-3 + 1", "arithmetic; the result must be 4", "abs(-3)+1"),
    ("5 * (4 - 2", "arithmetic", "5*(4-2)"),
]
"""What is left of an expression, its context, and the whole expression without spaces."""


def make_averages() -> list[Case]:
    """Return cases of digits, of English words, and of digits and words of several languages."""
    draw = random.Random(3)
    english = [word for word in NUMBERS if word.isascii()]
    cases: list[Case] = []
    for number in range(26):
        values: list[Any]
        match number % 3:
            case 0:
                values = [
                    draw.choice([draw.randint(1, 30), round(draw.uniform(0, 9), 1)])
                    for _ in range(3)
                ]
            case 1:
                values = draw.sample(english, 3)
            case _:
                values = [draw.choice([*NUMBERS]), draw.randint(1, 20), draw.choice([*NUMBERS])]
        average = sum(NUMBERS.get(value, value) for value in values) / 3
        cases.append(
            {
                "inputs": dict(zip("pqr", values, strict=True)),
                "check": f"abs(result - {average!r}) < 1e-6",
            }
        )
    return cases


def make_requests() -> list[Case]:
    """Return a case for each request in the bookshop."""
    return [
        {
            "inputs": {"books": BOOKS, "request": request},
            "check": "result is None"
            if place is None
            else f"result is not None and result.title == {BOOKS[place]['title']!r}",
        }
        for request, place in REQUESTS
    ]


def make_cases() -> dict[str, list[Case]]:
    """Return the cases by program."""
    return {
        "sentiment": [
            {"inputs": {"text": text}, "expect": mood}
            for mood, texts in MOODS.items()
            for text in texts
        ],
        "average_of_three": make_averages(),
        "filter_numbers": [
            {"inputs": {"numbers": numbers, "prop": prop}, "expect": kept}
            for numbers, prop, kept in FILTERS
        ],
        "menu": [
            {
                "inputs": {"order": order, "inventory": STOCK},
                "after": {"inventory": {dish: STOCK[dish] - taken.get(dish, 0) for dish in STOCK}},
            }
            for order, taken in ORDERS
        ],
        "tiny_bookshop": make_requests(),
        "balance_parentheses": [
            {
                "inputs": {"expression": expression, "context": context},
                "check": f"result.replace(' ', '') == {whole!r}",
            }
            for expression, context, whole in EXPRESSIONS
        ],
    }


def write_cases(work: Path) -> None:
    """Write each program with its cases: half to choose a form on, half to check it on."""
    work.mkdir(parents=True, exist_ok=True)
    (work / "pyproject.toml").write_text("[tool.njc]\n", encoding="utf-8")
    for program, cases in make_cases().items():
        folder = work / program
        folder.mkdir(exist_ok=True)
        (folder / "natural.njpy").write_text(
            read_program_source(program, "natural.njpy"), encoding="utf-8"
        )
        shuffled = [*cases]
        random.Random(1).shuffle(shuffled)
        half = len(cases) // 2
        for name, part in (("choose", shuffled[:half]), ("check", shuffled[half:])):
            lines = (json.dumps(case, ensure_ascii=False) + "\n" for case in part)
            (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        write_cases(Path(sys.argv[1]))
    else:
        print("program_cases: give a folder to write the programs and their cases to")
