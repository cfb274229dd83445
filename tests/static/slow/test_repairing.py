"""`njc static --repair`: a rationale first, then code, which is kept if a test command passes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import Result
from studio import Studio

from case_programs import read_program
from njc.static.lock import read_lock
from njrt.messages import Request, UserMessage

SHOP = read_program("repairing_shop")
RIGHT = "if spent + price > limit:\n    break\nbasket.items.append(price)\nspent += price"
WRONG = "basket.items.append(price)\nspent += price\nif spent > limit:\n    break"
WORSE = "spent = price"
TESTS = """\
import shop

def test_nothing():
    assert shop.fill([], 9, shop.Basket()) == 0

def test_limit():
    basket = shop.Basket()
    assert shop.fill([1, 2, 3, 4], 9, basket) == 6
"""
RATIONALE = "The price is added before it is compared with the limit, so one too many is taken."
COMMAND = f"{sys.executable} -m pytest -q -p no:cacheprovider test_shop.py"


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def said(request: Request) -> str:
    """Return the last thing that the model is told."""
    message = request.messages[-1]
    assert isinstance(message, UserMessage)
    return message.text


def explained(code: str) -> str:
    return f"Rationale: {RATIONALE}\n\n{fenced(code)}"


def run_code(code: str) -> str:
    """Return the command that runs Python code."""
    return shlex.join([sys.executable, "-c", code])


def repair(
    studio: Studio, command: str, *codes: str, flags: Sequence[str] = ("shop.njpy",), code: int = 0
) -> Result:
    """Repair what a test command finds wrong; the model explains and writes these codes."""
    words = ("static", "--repair", "--test", command, *flags)
    return studio.njc(*words, code=code, replies=[explained(text) for text in codes])


@pytest.fixture
def shop(studio: Studio) -> Studio:
    """Return a program whose static block is wrong, and its tests."""
    studio.write({"shop.njpy": SHOP, "test_shop.py": TESTS})
    studio.njc("build", ".", "-o", "out", "--mode", "static", replies=[fenced(WRONG)])
    studio.asked.clear()
    return studio


def test_a_test_command_repairs_code(shop: Studio) -> None:
    assert "exit code 1  passes        2" in repair(shop, COMMAND, WORSE, RIGHT).stdout
    first, second = map(said, shop.asked)
    assert "assert 10 == 6" in first
    assert "limit = 9, basket = Basket(items=[1, 2, 3]), spent = 6" in first
    assert "price = 4" in first
    assert "basket.items.append(price)" in first
    assert "# (2) spent = 10" in first
    assert "the tests fail with it, too" in second
    assert "# (1) spent = 4" in second
    entry = read_lock(Path("njc.lock")).entries["shop.njpy:fill", "static"]
    assert entry.rationale == f"{RATIONALE}\n"
    assert not entry.is_edited
    assert entry.attempts == 3
    shop.njc("build", ".", "-o", "out", "--mode", "static", "--locked")
    assert "if spent + price > limit:" in shop.read("out/shop.py")


def test_copied_comments_of_steps_are_not_locked(shop: Studio) -> None:
    copied = RIGHT.replace("break", "break  # not reached") + "  # (2) spent = 10"
    repair(shop, COMMAND, copied)
    shown = said(shop.asked[0]).partition("after each step:")[2].partition("Find the mistake")[0]
    assert "natural" not in shown
    code = read_lock(Path("njc.lock")).entries["shop.njpy:fill", "static"].code
    assert "#" not in code


def test_a_command_that_passes_costs_nothing(shop: Studio) -> None:
    before = shop.read("njc.lock")
    repair(shop, run_code("import shop"))
    assert (shop.asked, shop.read("njc.lock")) == ([], before)


def test_code_that_stays_wrong_changes_nothing(shop: Studio) -> None:
    before = shop.read("njc.lock")
    result = repair(shop, COMMAND, WORSE, flags=("--attempts", "1", "shop.njpy"), code=1)
    assert "exit code 1  exit code 1        1" in result.stdout
    assert shop.read("njc.lock") == before


def test_a_command_that_does_not_run_the_code_is_reported(shop: Studio) -> None:
    problem = "the command (exit code 1) did not test the build: it executed no compiled"
    assert problem in repair(shop, run_code("1/0"), code=2).stderr
    result = repair(shop, run_code("import shop; 1/0"), code=1)
    assert "the command failed without running its code" in result.stderr
    assert "its output ends with: ZeroDivisionError: division by zero" in result.stderr
    assert shop.asked == []


def test_a_command_that_never_ends_is_stopped(shop: Studio) -> None:
    endless = "import shop; shop.fill([1], 1, shop.Basket()); [0 for _ in iter(int, 1)]"
    flags = ("--seconds", "3", "--attempts", "1", "shop.njpy")
    result = repair(shop, run_code(endless), RIGHT, flags=flags, code=1)
    assert "exit code 124  exit code 124        1" in result.stdout


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "no test was given"),
        (("--test", "pytest"), "no test was given"),
        (("--repair", "--test", "no-such-command-here"), "cannot be run: No such file"),
        (("--repair", "--test", ""), "the test command is empty"),
        (("--repair", "--test", "pytest 'a"), "cannot be read: No closing quotation"),
        (("--repair", "--test", "./no-program"), "cannot be run: Exec format error: ./no-program"),
    ],
)
def test_flags_that_do_not_fit_are_refused(
    shop: Studio, flags: tuple[str, ...], message: str
) -> None:
    shop.write({"no-program": "\0"})
    (shop.folder / "no-program").chmod(0o755)
    assert message in shop.njc("static", *flags, "shop.njpy", code=2).stderr


SETTINGS = '''\
text = "limit=10"
"""natural
Put the number behind the sign in <text> into <:number: int>.
"""
'''
CHECK = "import shop; b = shop.Basket(); assert shop.fill([1, 2, 3, 4], 9, b) == 6, 'wrong'"
ENDLESS = "while price:\n    spent += price"
STUBBORN = "while price:\n    try:\n        spent += price\n    except BaseException:\n        pass"
FAULTS = {
    "it never ends": (
        *(SHOP, ENDLESS, CHECK, RIGHT),
        ("stopped after 2 seconds", "(2) spent = 1; (4) spent = 2; ... "),
    ),
    "it swallows interrupts": (
        *(SHOP, STUBBORN, CHECK, RIGHT),
        ("stopped after 2 seconds", "spent = 1; "),
    ),
    "the test prints much": (
        *(SHOP, WRONG, f"print('x' * 20_000_000); {CHECK}", RIGHT),
        ("xxx", "AssertionError: wrong", "# (2) spent = 10"),
    ),
    "the test exits": (
        *(SHOP, WRONG),
        "import shop, sys; sys.exit(shop.fill([1, 2, 3, 4], 9, shop.Basket()) != 6)",
        RIGHT,
        ("# (2) spent = 10",),
    ),
    "a signal ends it": (
        *(SHOP, WRONG),
        f"import os\ntry:\n    {CHECK}\nexcept AssertionError:\n    os.kill(os.getpid(), 15)",
        *(RIGHT, ("# (2) spent = 10",)),
    ),
    "it ends without exit handlers": (
        *(SHOP, WRONG, f"import os\ntry:\n    {CHECK}\nexcept AssertionError:\n    os._exit(3)"),
        *(RIGHT, ("# (2) spent = 10",)),
    ),
    "another process runs it": (
        *(SHOP, WRONG),
        "import multiprocessing as m\np = m.get_context('fork').Process(target=lambda: exec("
        f"{CHECK!r}))\np.start(); p.join(); assert p.exitcode == 0",
        *(RIGHT, ("AssertionError: wrong", "# (2) spent = 10")),
    ),
    "its import fails": (
        *(SETTINGS, "number = int(text)", "import shop; assert shop.number == 10"),
        'number = int(text.partition("=")[2])',
        ("invalid literal for int", "# (1) raises ValueError"),
    ),
}


def test_a_command_that_is_killed_says_nothing_of_the_code(shop: Studio) -> None:
    killed = "import os, shop; shop.fill([1], 1, shop.Basket()); os.kill(os.getpid(), 9)"
    result = repair(shop, run_code(killed), code=1)
    assert shop.asked == []
    assert "signal 9  signal 9        0" in result.stdout
    assert "the command was ended by signal 9" in result.stderr


def test_code_that_a_flaky_test_passes_is_not_kept(shop: Studio) -> None:
    before = shop.read("njc.lock")
    flaky = (
        "import pathlib, shop; shop.fill([1], 1, shop.Basket()); runs = pathlib.Path('runs'); "
        "runs.write_text(runs.read_text() + 'x' if runs.exists() else 'x'); "
        "assert len(runs.read_text()) % 2 == 0"
    )
    repair(shop, run_code(flaky), WORSE, RIGHT, flags=("--attempts", "2", "shop.njpy"), code=1)
    assert shop.read("njc.lock") == before


CLUB = read_program("repairing_club")
CLUB_TEST = """\
import asyncio
from club.core import Club

made = Club()
assert asyncio.run(made.join("Ann", 18)), "Ann"
assert not asyncio.run(made.join("Bob", 17)), "Bob"
assert asyncio.run(made.join("Cid", 40)), "Cid"
assert made.oldest == "Cid", made.oldest
"""
CLUB_CODES = {
    "allowed": ("allowed = age > 18", "allowed = age >= 18"),
    "oldest": ("oldest = min(self.members)", "oldest = max(self.members, key=self.members.get)"),
}
"""The wrong and the right code of each block."""


def find_block(request: Request) -> str:
    """Return the block of the club whose code is asked for."""
    return "allowed" if "at least 18" in str(request.messages) else "oldest"


def build_club(studio: Studio, source: str, codes: Mapping[str, str]) -> None:
    studio.njc(
        *("build", source, "-o", "out", "--mode", "static"),
        replies=lambda request: fenced(codes[find_block(request)]),
    )


def test_two_wrong_blocks_are_not_repaired_at_once(studio: Studio) -> None:
    studio.write({"core.njpy": CLUB})
    both = (
        "import asyncio, core; club = core.Club(); names = [asyncio.run(club.join(*member)) "
        "for member in (('Ann', 18), ('Cid', 40))]; assert (names, club.oldest) == ([True, True], 'Cid')"
    )
    build_club(studio, ".", {name: pair[0] for name, pair in CLUB_CODES.items()})
    before = studio.read("njc.lock")
    studio.njc(
        *("static", "--repair", "--test", run_code(both), "--attempts", "1", "."),
        replies=lambda request: explained(CLUB_CODES[find_block(request)][1]),
        code=1,
    )
    assert studio.read("njc.lock") == before


@pytest.mark.parametrize("wrong", CLUB_CODES)
def test_the_wrong_one_of_several_blocks_of_a_package_is_repaired(
    studio: Studio, wrong: str
) -> None:
    studio.write({"src/club/core.njpy": CLUB, "src/club/__init__.py": "", "check.py": CLUB_TEST})
    build_club(studio, "src", {name: pair[name != wrong] for name, pair in CLUB_CODES.items()})
    before = read_lock(Path("src/njc.lock")).entries
    breaking = {"allowed": "allowed = True", "oldest": "oldest = 'Ann'"}
    asked = dict.fromkeys(CLUB_CODES, 0)

    def reply(request: Request) -> str:
        block = find_block(request)
        asked[block] += 1
        is_right = block == wrong and asked[block] > 1
        return explained(CLUB_CODES[block][1] if is_right else breaking[block])

    test = shlex.join([sys.executable, "check.py"])
    studio.njc(*("static", "--repair", "--test", test, "--attempts", "2", "src"), replies=reply)
    assert "sitecustomize" not in said(studio.asked[-1])
    after = read_lock(Path("src/njc.lock")).entries
    changed = [name for name, entry in after.items() if entry != before[name]]
    assert [after[name].code.strip() for name in changed] == [CLUB_CODES[wrong][1]]


@pytest.mark.parametrize("name", FAULTS)
def test_code_is_repaired_whatever_happens_in_the_command(studio: Studio, name: str) -> None:
    program, wrong, check, right, shown = FAULTS[name]
    studio.write({"shop.njpy": program})
    studio.njc("build", ".", "-o", "out", "--mode", "static", replies=[fenced(wrong)])
    studio.asked.clear()
    worse = [ENDLESS.replace("price:", "limit:")] if name == "the test exits" else []
    repair(studio, run_code(check), *worse, right, flags=("--seconds", "2", "shop.njpy"))
    prompt = said(studio.asked[0])
    assert [text for text in shown if text not in prompt] == []
    assert len(prompt) < 6000
    (entry,) = read_lock(Path("njc.lock")).entries.values()
    assert entry.code.strip() == right
    assert entry.rationale == f"{RATIONALE}\n"


def test_sources_without_static_blocks_are_an_error(studio: Studio) -> None:
    studio.write({"plain.njpy": "x = 1\n"})
    assert "no block is static" in repair(studio, "true", flags=["plain.njpy"], code=2).stderr
