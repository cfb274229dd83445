"""Static code with `policy="contained"`: the compiled file has it, and a separate process runs it."""

from __future__ import annotations

import ast
import asyncio
import json
from pathlib import Path

import black
import pytest
from studio import Studio, load

import njrt

pytestmark = pytest.mark.usefixtures("contained")

ROOT = Path(__file__).parent.parent.parent
LOOP = '''\
def total(prices, rate):
    seen = []
    for price in prices:
        """natural(policy="contained")
        Put <price> with <rate> into <:gross>; break if it is negative.
        """
        seen.append(gross)
    return seen
'''


def contained(prompt: str, head: str, tail: str, before: str = "") -> str:
    lines = "\n    ".join(prompt.split("\n"))
    return f'{before}{head}\n    """natural(policy="contained")\n    {lines}\n    """\n    {tail}\n'


def test_the_compiled_file_shows_the_code(studio: Studio) -> None:
    text = studio.built(LOOP, "if price < 0:\n    break  # enough\ngross = price * (1 + rate)")
    page = (ROOT / "docs" / "reference" / "contained.md").read_text(encoding="utf-8")
    shown = page.partition("## Static code")[2].partition("```python\n")[2].partition("```")[0]
    assert shown in text
    assert black.format_str(text, mode=black.Mode()) == text
    assert load(text)["total"]([1, 2, -1, 3], 1) == [2, 4]


CODES = {
    "lines in strings": "text = '''a\n  b\n    c'''\nout = text + str(n)",
    "backslashes": r"out = '\n'.join(['\t', str(n), 'a\\b'])",
    "both quotes": 'out = \'"""\' + "\'" + str(n)',
    "backslash at the end of a line": "out = str(n) + \\\n    'x'",
    "blank lines": "if n:\n    out = str(n)\n\n\nelse:\n    out = ''",
    "other letters": "out = 'äß→' + str(n)",
    "a function": "def double(text):\n    return text * 2\n\nout = double(str(n))",
    "an import": "import re\n\nout = ''.join(re.findall('[0-9]', str(n)))",
    "a comprehension": "out = ''.join(str(k) for k in range(n))",
}


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
def test_any_code_is_written_exactly(studio: Studio, code: str) -> None:
    plain = load(studio.built(contained("Put <n> into <:out: str>.", "def f(n):", "return out").replace("contained", "guarded"), code))  # fmt: skip
    text = studio.built(contained("Put <n> into <:out: str>.", "def f(n):", "return out"), code)
    assert "code=" in text
    assert load(text)["f"](3) == plain["f"](3)


def test_the_code_runs_in_another_process(studio: Studio) -> None:
    text = studio.built(LOOP, "gross = price * (1 + rate)")
    trace = studio.folder / "trace.jsonl"
    with njrt.using(trace=str(trace)):
        assert load(text)["total"]([1], 1) == [2]
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["began", "performed", "ended"]
    assert lines[0]["model"] == "static code"
    # A function of the code ends with its process.
    source = contained("Put a function for <n> into <:out>.", "def f(n):", "return out")
    kept = load(studio.built(source, "def double(value):\n    return value * n\n\nout = double"))
    with pytest.raises(TypeError, match="contained code ends with it"):
        kept["f"](2)


def test_jumps_and_exceptions_are_those_of_the_program(studio: Studio) -> None:
    source = contained(
        "Return the price of <name> in <prices>; raise <Unknown> if <name> is empty.",
        "def f(name, prices):",
        "return None",
        "class Unknown(Exception):\n    pass\n\n\n",
    )
    code = "if not name:\n    raise Unknown('empty')\nreturn prices[name]"
    space = load(studio.built(source, code))
    assert space["f"]("tea", {"tea": 3}) == 3
    with pytest.raises(space["Unknown"], match="empty"):
        space["f"]("", {})
    with pytest.raises(
        KeyError, match="tea"
    ) as caught:  # as Python would, not a message to a model
        space["f"]("tea", {})
    notes = "\n".join(caught.value.__notes__)
    assert "program.njpy:6" in notes
    assert "return prices[name]" in notes


def test_objects_are_changed_in_place(studio: Studio) -> None:
    source = contained(
        "Add the length of each of <words> to <found>.", "def f(words, found):", "return found"
    )
    space = load(studio.built(source, "for word in words:\n    found[word] = len(word)"))
    found: dict[str, int] = {}
    assert space["f"](["a", "bcd"], found) is found == {"a": 1, "bcd": 3}


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async def"])
def test_the_code_may_ask_a_model(studio: Studio, is_async: bool) -> None:
    head = ("async " if is_async else "") + "def f(mail):"
    source = contained("Is <mail> spam? Bind <:spam: bool>.", head, "return spam")
    call = "await allm" if is_async else "llm"
    text = studio.built(source, f'spam = {call}(f"Spam? {{mail}}", bool)')
    name = "allm" if is_async else "llm"
    assert f'"{name}": _nj.{name}_at("program.njpy:2", policy="contained")' in text
    assert black.format_str(text, mode=black.Mode()) == text
    model = njrt.Scripted(["true", "false"], protocol="text")
    with njrt.using(model=model):
        function = load(text)["f"]
        answers = [function("Buy now"), function("Hello")]
        if is_async:
            answers = [asyncio.run(answer) for answer in answers]
    assert answers == [True, False]


def test_a_class_of_an_output_can_be_made(studio: Studio) -> None:
    before = "from dataclasses import dataclass\n\n\n@dataclass\nclass Order:\n    count: int\n\n\n"
    source = contained("Put <n> into <:order: Order>.", "def f(n):", "return order", before)
    space = load(studio.built(source, "order = Order(n)"))
    assert space["f"](4) == space["Order"](4)


def test_gated_calls_of_static_code_are_decided(studio: Studio) -> None:
    before = (
        "import njrt\n\npaid = []\n\n\n@njrt.gated\ndef pay(order):\n    paid.append(order)\n\n\n"
    )
    source = contained("Call <pay> for each of <orders>.", "def f(orders):", "return paid", before)
    space = load(studio.built(source, "for order in orders:\n    pay(order)"))
    with pytest.raises(PermissionError):
        space["f"]([1])
    shown: list[object] = []

    def accept(pending: njrt.PendingEffect) -> njrt.Decision:
        shown.append(pending.effect)
        return njrt.Accept()

    with njrt.using(intercept=accept):
        assert space["f"]([1, 2]) == [1, 2]
    # The code itself is a part of the program, and not shown.
    assert [effect.arguments for effect in shown if isinstance(effect, njrt.Touch)] == [
        {"order": 1},
        {"order": 2},
    ]
    assert len(shown) == 2


def test_the_option_of_the_project_counts(studio: Studio) -> None:
    studio.write({"pyproject.toml": '[tool.njc]\npolicy = "contained"\n'})
    text = studio.built(LOOP.replace('(policy="contained")', ""), "gross = price + rate")
    assert 'code="""' in text
    assert load(text)["total"]([1], 1) == [2]


def test_the_build_with_the_lock_is_the_same(studio: Studio, tmp_path: Path) -> None:
    text = studio.built(LOOP, "gross = price + rate")
    studio.njc("build", "program.njpy", "--mode", "static", "--locked", "-o", "again")
    assert (studio.folder / "again" / "program.py").read_text() == text
    assert ast.parse(text)
