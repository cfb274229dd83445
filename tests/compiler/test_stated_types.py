"""Types that the words of a prompt or the code around it state: NJ308, and what `--fix` writes.

The corpus is our own programs, whose types are written: without those of their outputs, what is stated must be what was written.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from njc.commands import njc
from njc.compiler import compile_source
from njc.frontend.source import SourceFile

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    [*(ROOT / "spsbench/programs").glob("*/*.njpy"), *(ROOT / "examples").rglob("*.njpy")]
)
WIDER = {"team": "str"}
"""Types that are said, and wider than the written ones: both are right."""


def find_stated(text: str) -> dict[str, str]:
    """Return the types that NJ308 reports, by name."""
    hints = compile_source(SourceFile("mail.njpy", text.encode())).hints
    stated = [hint.message for hint in hints if hint.code == "NJ308"]
    return dict(re.findall(r"`(\w+)` is `(.*?)` by the words", "\n".join(stated)))


def test_what_is_stated_for_our_programs_is_what_was_written() -> None:
    right = 0
    for file in PROGRAMS:
        text, written = file.read_text(encoding="utf-8"), {}
        for name, type_ in re.findall(r"<:(\w+): ((?:[^<>]|->)+?)>", text):
            written.setdefault(name, type_)
        without = re.sub(r"<:(\w+): (?:[^<>]|->)+?>", r"<:\1>", text)
        for name, type_ in find_stated(without).items():
            if name in written:
                assert type_ in (written[name], WIDER.get(name)), (file, name)
                right += type_ == written[name]
    assert right >= 15


WORDS = [
    ("Compute the mean of <text> as <:x> as a float.", "float"),
    ("Compute the mean of <text> as <:x>, a float.", "float"),
    ("Put into <:x> (an integer) the length of <text>.", "int"),
    ("Store the mood of <text> in the boolean <:x>.", "bool"),
    ("Rate <text> as either good, or bad, and save the result to <:x>.", 'Literal["good", "bad"]'),
    ("Read <text> as a <Cart> and save it as <:x>.", "Cart"),
    ("Explain <text> and store it as a string to <:x>.", "str"),
    ("Keep the longest <rows>. Store the result in <:x>.", "list[int]"),
    ("Save to <:x> a list of claims in <text>, whether they are true or false.", "list[str]"),
    ("Put the age in <text> into <:x> as an integer. Save <:x> as None if there is none.", "int | None"),
    ("Put the age in <text> into <:x> as an integer, and save <:y> as None.", "int"),
    ("Rate <text> as either 1, 2 or 10, and save the result to <:x>.", "Literal[1, 2, 10]"),
    ("Put <text> into <:x>, a float, or stop.", "float"),
    ("Save the number of <text> to <:x> as an integer or raise.", "int"),
    ("Filter out the numbers from <rows> that are odd. Store the result in <:x>.", "list[int]"),
    ("Save whether <text> is polite or not into <:x>.", "bool"),
    ("Rate <text> as either good or bad for <rows>, and save the result to <:x>.", 'Literal["good", "bad"]'),
    ("Put the names in <text> into a list of strings <:x>.", "list[str]"),
    ("Put into <:x>, a set of integers, the years in <text>.", "set[int]"),
    ("Put into <:x> as a tuple of floats the prices in <text>.", "tuple[float, ...]"),
    ("Read <text>, and store it in <:x> as a <Cart>.", "Cart"),
    ("Read <text> into <:x>, a <Cart>.", "Cart"),
    ("Decide into <:x> whether <text> is polite.", "bool"),
    ("Store whether <text> is polite in <:x>.", "bool"),
    ("Set <:x> to true or false, as <text> says.", "bool"),
    ("Count the vowels of <text> into <:x>.", "int"),
    ("Put the number of vowels of <text> into <:x>.", "int"),
    ("Put into <:x> the number of words in <text>.", "int"),
    ("Put into <:x> how many people <text> names.", "int"),
    ("Put the average of the numbers in <text> as a float into <:x>.", "float"),
    ("Extract the names in <text> as a list of strings: <:x>.", "list[str]"),
    ("Let <:x> be an integer.", "int"),
    ("Classify <text> as good, fair or bad, and put it into <:x>.", 'Literal["good", "fair", "bad"]'),
    ("Put the number of <text> as text into <:x>.", "str"),
    ("Store the count of <text> as a string in <:x>.", "str"),
    ("<:x> is True if <text> is spam.", "bool"),
    ("Decide if <text> is spam: <:x>.", "bool"),
    ("Check whether <text> is polite: <:x>", "bool"),
    ("Classify <text> as <:x>: either positive, neutral, or negative.", 'Literal["positive", "neutral", "negative"]'),
    ('Put into <:x> the team for <text>, one of "billing", "it" or "sales".', 'Literal["billing", "it", "sales"]'),
]  # fmt: skip
SILENT = [
    "Put into <:x> what <text> says about floats.",
    "Find out whether <text> is an expense, and put its kind into <:x>.",
    "Count how often each word of <text> occurs into <:x>.",
    "Put either of <text> into <:x>.",
    "Put into <:x> the best offer in <text>. An integer is not needed.",
    "Rate <text> as <:x>: either 'good' or 'bad', or unclear.",
    "Rate <text> as <:x>: one of good, bad or fair or poor.",
    "Put <text> into <:x>, an integer; or a float if unsure.",
    "Put <text> into <:x>, a list of strings or a string.",
    "Put <text> into <:x: bytes> as a float.",
    "Put <text> into <:x.y> as a float.",
    "Put a <Cart> and <text> into <:x>.",
    "Read <text> as a letter, make a <Cart> of it, and save it as <:x>.",
    "Count the <rows>. Store the result in <:x>.",
    "Keep the longest of <rows> and of <text>, or neither. Put them into <:x>, or say why.",
    "Say whether <text> is None. Put the age in it into <:x> as an integer.",
    "Put into <:x> a list of parts of <text>, true or false.",
]
OTHER_FORMS = """\
Put a list of the names in <text> into <:x>, one a line.
Put the price in <text> into <:x> as an integer number of cents, or as a float of euros.
Put the ages in <text> into <:x> as integers.
Save whether <text> is rude into <:x> as "yes" or "no".
Save whether <text> is rude into <:x>, as 1 or 0.
Save to <:x> whether <text> is rude or not known.
Decide whether <text> is rude, polite or neutral, and put it into <:x>.
Decide whether <text> are one or several, and put which into <:x>.
Put into <:x> (a float or None) the price in <text>.
Rate <text> as either good or bad or a number from 1 to 5, and save the result to <:x>.
Rate <text> as either good, bad, or something of your own, and save the result to <:x>.
Put the words of <text> as a list of strings or a single string into <:x>.
Put the number of <text> and the sum into <:x>, as a tuple.
Save <text> to <:x> as an integer array.
Save <text> to <:x> as an int list.
Save <text> to <:x> as a boolean expression.
Save <text> to <:x> as a float in a list.
Save the date in <text> to <:x> as an integer string.
Save the number of <text> to <:x> as an integer, or as "many".
Save the number of <text> to <:x> as an integer; write "many" if it is large.
Save the number of <text> to <:x> as an integer. If it is large, save "many".
Save the number of <text> to <:x> as an integer. If it is not clear, set <:x> to "unclear".
Save the number of <text> to <:x> as an integer, unless it is large: then as a float.
Count <text> by kind into <:x>.
Count the <text> of each kind into <:x>.
Put how many <text> there are of each kind into <:x>.
Put how many percent of <text> are rude into <:x>.
Put the number of <text> in words into <:x>.
Put the phone number of <text> into <:x>.
Put the number of the house in <text> into <:x>.
Put into <:x> the number of the house in <text>.
Classify <text> as spam or give a reason, and put it into <:x>.
Classify <rows> as good or bad, and put the good ones into <:x>.
Rate <text> as a critic or a fan would, and put it into <:x>.
Label <text> as in the example or better, and put it into <:x>.
Put into <:x> the number of words in <text>, and the words.
Put into <:x> the number of words and sentences in <text>.
Put into <:x> the number of words in <text> as text.
Put into <:x> the number of hours in <text>.
Put into <:x> how many of the words are in each of <text>.
Decide whether <text> is polite or rude: <:x>.
Check if <text> is spam, and say why: <:x>.
Treat <text> as a string: say <:x>.
<:x> is True if <text> is spam, otherwise the reason.
Put <text> as a float or an int into <:x>.
Put the number and the name of <text> into <:x>.
Put the average as a float and the count as an integer of <text> into <:x>.
Explain <text> as a string of three sentences and a list of words in <:x>.
Put each of <text> as a float into <:x>.
Put <text> sorted into <:x>.
Filter <rows> and store the names into <:x>.
Remove the rude <rows> and put their number into <:x>.
Select the best of <rows> and store it in <:x>.
Keep the best of <rows>. Store it in <:x>.
Select the best <rows>. Save the result as one text to <:x>.
Reverse <rows> and put them joined into <:x>.
Classify <text> either as spam, ham, or eggs with a number, and save the result to <:x>.
Choose one of: red, green or blue for each of <text>, and save the result to <:x>.
Choose either red or green for all of <text>, and store them to <:x>.
Pick either one or two of <text>, and save the result to <:x>.
Say either yes, or why not, and save the result to <:x>.
Put into <:x> either 1, 2 or 3 for <text>, or 0 if it is empty.
Put into <:x> either good or bad for <text>. If it is empty, put none into it.
Rate <text> as <:x>: either good or bad. If you cannot tell, use unclear.
Rate <text> as <:x>: either good or bad; otherwise say mixed.
Rate <text> as <:x>: either good or bad, plus a reason.
Rate <text> as <:x>: either good or bad and why.
Rate each of <rows> as <:x>: either good or bad.
Rate the <rows> as either good or bad, and save the result to <:x>.
Label <rows> as one of spam or ham for <text>. Store the result in <:x>.
Rate <rows> as <:x>: either good or bad.
Put into <:x> for the <rows> either good or bad.
Put into <:x> either good or bad for the <rows>.
Rate <text> as <:x>, a list of either good or bad.
Put into <:x> a sentence that starts with either yes or no about <text>.
Put into <:x> either true or false for <text>.
Put into <:x> either zero or one for <text>.
Put into <:x> either 2 or 2.5 for <text>.
Put into <:x> either 1, 2 or more for <text>.
Put into <:x> either 10 or 20% of <text>.
Put into <:x> either good or bad/ugly for <text>.
Put into <:x> either good or bad as a dict of <text>.
Put the name of <text> into <:x> and set <:y> to true or false.
Put the number of rows in <text> into <:y>, the rows into <:x>.
Put the count of <text> into <:y> and into <:x> the names.
Put the names in <text> that count into <:x>.
Count <text>, put the winner into <:x>.
Count from 1 to <text> into <:x>.
Put the number of the flight of <text> into <:x>.
Put the number of my flight in <text> into <:x>.
Put the number of hours in <text> into <:x>.
Put how many kilometres <text> says into <:x>.
Put the number of <text> into <:x> or nothing.
Put into <:x> an integer and a string about <text>.
Put into <:x> a list of names with their ages in <text>.
Put into <:x> a list of names and ages in <text>.
Put into <:x> a list of questions, each with its answer, from <text>.
Put into <:x> a list of words grouped by topic in <text>.
Put into <:x> a list of titles of <text>, as <Cart>s.
Put the age of each of <text> into <:x> as an integer.
Put the prices of <text> into <:x>, a float per price.
Put the age of <text> into <:x>, an integer. If there is none, leave it empty.
Put the age of <text> into <:x>, an integer. If there is none, put unknown.
Put the age of <text> into <:x>, an integer, or unknown.
Put the age of <text> into <:x>, an integer; else a dash.
Put into <:x> whether <text> is rude, and how rude.
Put into <:x> whether <text> is rude, polite or neither.
Decide if <text> is rude or polite in <:x>.
Put whether each of <text> is rude into <:x>.
Put into <:x> whether <text> is rude for each sentence.
Put into <:x> whether <text> is rude; if it is empty, put none.
Put a string and its length of <text> into <:x>.
Put into <:x> a string, or a list of strings if there are several, from <text>.
Put into <:x> the integers of <text>.
Put into <:x> text and number of <text>.
Put into <:x> a float with its unit from <text>.
Put into <:x> an integer percentage with a sign from <text>.
Put into <:x> an integer range such as 3-4 from <text>.
Put into <:x> a boolean per sentence of <text>.
Put into <:x> a text file with <text>.
Put into <:x> string parts of <text>.
Put into <:x> the float values of <text>.
Put into <:x> a text for every one of <rows>.
Choose one of good or bad for <text>, or both, and save the result to <:x>.
Choose one of good or bad for <text> and one of big or small, and save the result to <:x>.
Say either yes or no to <text> with a reason, and save the result to <:x>.
Rate <text> as either good or bad, and explain. Save the result to <:x>.
Answer <text> in one word, either yes or no, then explain why. Store it in <:x>.
Rate all <rows> as either good or bad, and save the results to <:x>.
Put into <:x> true, false or unknown for <text>.
Set <:x> to true if <text> is rude, to false if not, and to none if it is empty.
Put into <:x> the languages of <text>, one of english or german each.
Pick one of red, green or blue for <text>; if none fits, name another colour. Put it into <:x>.
Put into <:x> one of "low", "mid" or "high", or a short explanation.
Put into <:x> how many words <text> has, and its longest word.
Count the words and the letters of <text> into <:x>.
Count the words of <text> as <:x>, a pair of total and distinct ones.
Put into <:x> the word count per line of <text>.
Put the names in <text> into <:x>, a list of strings; if there is only one, just the string.
Put the years in <text> into <:x> as a list of integers, None for unknown ones.
Put the prices in <text> into <:x> as a list of floats or strings.
Put into <:x> a tuple of strings: the first and the last name in <text>, and the age.
Put into <:x> the tuple of integer and string that <text> has.
Put the start and the end of <text> into <:x> as integers.
Put into <:x> an integer for the age and a text for the name in <text>.
Give <:x> as a float, or as text if <text> has no number.
Save the score of <text> to <:x> as an int from 1 to 5, or "n/a".
Put a boolean for rude and one for polite <text> into <:x>.
Store in <:x> whether <text> is rude and whether it is short.
Store in <:x> whether <text> is rude as well as a reason.
Decide whether to answer or forward <text> into <:x>.
Decide whether <text> is spam or ham as <:x>.
Put into <:x> if <text> is rude the word, otherwise nothing.
Put into <:x> whether, and why, <text> is rude.
Read <text> into <:x>, a <Cart> or a list of <Cart>.
Read <text> as <Cart>s and save them as <:x>.
Read <text> as a <Cart>, then save its total as <:x>.
Read <text> as a <Cart> and save the result as <:x> in a list.
Read <text>, and store it in <:x> as a <Cart>, or None.
Remove the odd <rows>, count the rest, and store the result in <:x>.
Keep the odd <rows> by group. Store the result in <:x>.
Keep the longest of <rows>. Store the result in <:x>.
Select <rows> above 3, double them as text, and store them in <:x>.
""".splitlines()
"""A form, an alternative or a plural that the nearest words do not have."""


@pytest.mark.parametrize(("prompt", "type_"), WORDS)
def test_words(prompt: str, type_: str) -> None:
    text = f'class Cart: ...\n\n\ndef f(text, rows: list[int]):\n    """natural\n    {prompt}\n    """\n    print(x)\n'
    assert find_stated(text)["x"] == type_


@pytest.mark.parametrize("prompt", [*SILENT, *OTHER_FORMS])
def test_words_without_a_type(prompt: str) -> None:
    text = f'class Cart: ...\n\n\ndef f(text, rows: list[int]):\n    """natural\n    {prompt}\n    """\n    print(x)\n'
    assert "x" not in find_stated(text)


BELOW = [
    ("Put the list of rude words in <text> into <:x>.", "if x:\n        return True", {}),
    ("Put the first error in <text> into <:x>.", "while not x:\n        pass", {}),
    ("Put what is wrong with <text> into <:x>.", "return 1 if x else 0", {}),
    ("Put into <:x> whether <text> is rude.", "if not x:\n        return 1", {"x": "bool"}),
    ("Decide if <text> is rude into <:x>.", "if x:\n        return 1", {"x": "bool"}),
    ("Put the words of <text> into <:x>.", "for y in x:\n        print(y.strip())", {"x": "list[str]"}),
    ("Put the word of <text> into <:x>.", "for y in x:\n        print(y.strip())", {}),
    ("Put the age in <text> into <:x>, an integer.", "if x is None:\n        return 1", {}),
    ("Put the age in <text> into <:x>, an integer.", "print(sum(x))", {}),
    ("Put the age in <text> into <:x>, an integer.", "print(x[0])", {}),
    ("Put the age in <text> into <:x>, an integer.", "a, b = x", {}),
    ("Put the age in <text> into <:x>, an integer.", "if x == 'unknown':\n        return 1", {}),
    ("Put the age in <text> into <:x>, an integer.", "if x > 18:\n        return x + 1", {"x": "int"}),
    ("Put the name in <text> into <:x>, a string.", "print(x['first'])", {}),
    ("Put the name in <text> into <:x>, a string.", "x.append(1)", {}),
    ("Rate <text> as <:x>: either good, or bad.", "if x == 'none':\n        return 1", {}),
    ("Rate <text> as <:x>: either 1, -1 or 0.", "if x in (1, 0):\n        return 1", {"x": "Literal[1, -1, 0]"}),
    ("Put into <:x> either upper or lower.", "print(x.title())", {"x": 'Literal["upper", "lower"]'}),
    ("Put into <:x> either upper or lower.", "x.append(1)", {}),
    ("Rate <text> as <:x>: either good or bad.", "match x:\n        case 'none':\n            return 1", {}),
]  # fmt: skip


@pytest.mark.parametrize(("prompt", "below", "said"), BELOW)
def test_words_and_uses(prompt: str, below: str, said: dict[str, str]) -> None:
    text = f'def f(text: str):\n    """natural\n    {prompt}\n    """\n    {below}\n'
    assert find_stated(text) == said


USES = [
    ("def f(text) -> list[str]:", "return x", {"x": "list[str]"}),
    ("def f(text) -> 'Cart':", "return x", {"x": "Cart"}),
    ("def f(text) -> str | None:", "return x", {}),
    ("def f(text):", "if x:\n        return 1", {}),
    ("def f(text):", "if x:\n        return x", {}),
    ("def f(text):", "print(x.upper())", {"x": "str"}),
    ("def f(text):", "note(x)", {"x": "str"}),
    ("def f(text):", "Cart(size=x)", {"x": "int"}),
    ("def f(text):", "Cart(other=x)", {}),
    ("def f(text):", "note(x)\n    Cart(size=x)", {}),
    ("def f(text):", "note(3, anything=x)", {}),
    ("def f(text):", "for y in x:\n        print(y.strip())", {}),
    ("def f(text) -> str:", "def show():\n        return x\n    return ' '.join(show())", {}),
    ("def f(text):", "def show(x):\n        return x.upper()", {}),
    ("def f(text) -> str:", "x = len(x)\n    return x", {}),
    ("def f(text) -> str:", "if x is None:\n        return ''\n    return x", {}),
    ("def f(text) -> str:", "if isinstance(x, str):\n        return x", {}),
    ("def f(text) -> 'Iterator[str]':", "yield 1\n    return x", {}),
    ("def f(text):", "note(*text, x)", {}),
    ("def f(text):", "Box(1, x)", {}),
    ("def f(text):", "if x is not None:\n        note(x)", {}),
    ("def f(text) -> int:", "print(x.upper())\n    return x", {}),
    ("def f(text):", "print(text.lower(), x)", {"text": "str"}),
    ("def f(text='a'):", "print(x)", {"text": "str"}),
    ("def f(text=3):", "print(text.lower(), x)", {}),
    ("def f(text=None):", "print(x)", {}),
    ("def f(text: str):", "print(x)", {}),
]


@pytest.mark.parametrize(("head", "below", "said"), USES)
def test_uses(head: str, below: str, said: dict[str, str]) -> None:
    text = (
        "class Cart:\n    size: int | None\n\n\nclass Box(Cart):\n    a: int\n    b: str\n\n\ndef note(text: str, anything: object = 1): ...\n\n\n"
        f'{head}\n    """natural\n    Put what <text> means into <:x>.\n    """\n    {below}\n'
    )
    assert find_stated(text) == said


OTHER_MEANINGS = {
    "a name of the class": "class Box:\n    T = int\n\n    def f(self, text) -> T:",
    "a class of the class": "class Box:\n    class T: ...\n\n    def f(self, text) -> T:",
    "another class in the module": "class T: ...\n\n\nclass Box:\n    T = int\n\n    def f(self, text) -> T:",
    "a parameter": "def g():\n    def f(text, list) -> list[int]:",
    "another Literal": "Literal = 3\n\n\ndef g():\n    def f(text):",
}


@pytest.mark.parametrize("head", OTHER_MEANINGS.values(), ids=OTHER_MEANINGS)
def test_a_type_with_another_meaning_in_the_block_is_not_proposed(head: str) -> None:
    words = ", either good or bad" * ("Literal" in head)
    text = f'{head}\n        """natural\n        Put what <text> means into <:x>{words}.\n        """\n        return x\n'
    assert find_stated(text) == {}


def test_calls_in_the_file() -> None:
    block = 'def f(text, n):\n    """natural\n    Put <text> and <n> into <:x>.\n    """\n    print(x)\n'
    assert find_stated(f'{block}\n\nf("a", 1)\nf(f"b{{1}}", n=2)\n') == {"text": "str", "n": "int"}
    assert find_stated(f'{block}\n\nf("a", 1)\nf(3, g())\n') == {}


def test_a_parameter_that_two_blocks_read_is_reported_once() -> None:
    text = "def f(text):\n" + '    """natural\n    Print <text>.\n    """\n' * 2 + '\n\nf("a")\n'
    (hint,) = (
        hint
        for hint in compile_source(SourceFile("mail.njpy", text.encode())).hints
        if hint.code == "NJ308"
    )
    assert hint.hint == "write `text: str`"


def test_fix_writes_them(tmp_path: Path) -> None:
    file = tmp_path / "mail.njpy"
    file.write_text(
        "def f(text, n=3):\n"
        '    """natural\n    Put the mean of <text> and <n> into <:x> as a float.\n    """\n'
        "    return x\n\n\nprint(f('4 and 5'))\n"
    )
    plain = CliRunner().invoke(njc, ["check", "--fix", str(file)])
    assert plain.exit_code == 0
    assert "<:x>" in file.read_text()
    result = CliRunner().invoke(njc, ["check", "--fix", "--hints", str(file)])
    assert result.exit_code == 0, result.output
    assert "def f(text: str, n: int = 3):" in file.read_text()
    assert "<:x: float>" in file.read_text()
    compiled = compile_source(SourceFile("mail.njpy", file.read_bytes()))
    assert compiled.authorities[0].effects == "answer"


def test_a_loop_contradicts_a_scalar() -> None:
    text = 'def f(text):\n    """natural\n    Put the age in <text> into <:x> as an integer.\n    """\n'
    assert find_stated(f"{text}    for y in x:\n        print(y)\n") == {}


def test_a_class_is_the_type_of_its_namesake() -> None:
    head = "class LineItem:\n    name: str\n\n\ndef f(text):\n"
    block = '    """natural\n    Create a <LineItem> of <text>. Take the first.\n\n    Save as <:line_item>\n    """\n'
    assert find_stated(f"{head}{block}    return line_item\n") == {"line_item": "LineItem"}
    several = block.replace("a <LineItem>", "all <LineItem>s")
    assert find_stated(f"{head}{several}    return line_item\n") == {}


def test_parameters_that_are_passed_on() -> None:
    block = '    """natural\n    Put the key of <text> into <:x>.\n    """\n    return x\n'
    caller = "\n\ndef g(mail: str):\n    return f(mail)\n"
    assert find_stated(f"def f(text):\n{block}{caller}") == {"text": "str"}
    assert find_stated(f"def f(text):\n{block}{caller.replace(': str', '')}") == {}
    assert find_stated(f"def f(text):\n{block}{caller}\nf(3)\n") == {}


def fix(folder: Path, text: str) -> tuple[str, list[str | None]]:
    """Correct a program with its hints; return its text, and the effects of its blocks."""
    file = folder / "mail.njpy"
    file.write_text(text)
    result = CliRunner().invoke(njc, ["check", "--fix", "--hints", str(file)])
    assert result.exit_code == 0, result.output
    compiled = compile_source(SourceFile("mail.njpy", file.read_bytes()))
    return file.read_text(), [authority.effects for authority in compiled.authorities]


def test_fix_adds_the_import_of_literal(tmp_path: Path) -> None:
    head = '"""Mails."""\n\nimport json\n\n\n'
    block = 'def f(mail: str):\n    """natural\n    Rate <mail> as <:x>: either good, or bad.\n    """\n    return x\n'
    fixed, effects = fix(tmp_path, head + block)
    assert fixed.startswith('"""Mails."""\n\nfrom typing import Literal\nimport json\n')
    assert '<:x: Literal["good", "bad"]>' in fixed
    assert effects == ["answer"]
    assert fixed.count("import Literal") == 1


@pytest.mark.parametrize("above", ["", "# Moods.\n", '"""Moods."""\n\n'])
def test_the_import_is_above_a_block_that_comes_first(tmp_path: Path, above: str) -> None:
    block = '"""natural\nPut into <:x> either good, or bad.\n"""\n'
    fixed, _ = fix(tmp_path, f"{above}{block}print(x)\n")
    assert fixed.index("import Literal") < fixed.index('"""natural')
    assert fixed.startswith(above if '"' in above else "from typing import Literal\n")


READERS = {
    "unknown types": ("def f(a, b, c):", "Put the mean of <a>, <b> and <c> into <:x: float>."),
    "a list": ("def f(rows: list[int]):", "Put the longest of <rows> into <:x: str>."),
    "a class": ("def f(cart: 'Cart'):", "Put the sum of <cart> into <:x: float>."),
}
CHANGERS = {
    "a change": ("def f(rows: list[int]):", "Append 3 to <rows>, and put its length into <:x: int>."),
    "a removal": ("def f(a, b):", "Put the best of <a> into <:x: str>, and remove it from <b>."),
    "the same variable": ("def f(rows: list[int]):", "Keep the odd <rows> in <:rows>, their sum in <:x: int>."),
    "a function": ("def f(a):", "Call <print> with <a>, and put it into <:x: str>."),
    "no output": ("def f(a, b):", "Tell what <a> has that <b> has not."),
    "an option": ("def f(a, b):", "Put the sum of <a> and <b> into <:x: int>."),
}  # fmt: skip


@pytest.mark.parametrize(("head", "prompt"), READERS.values(), ids=READERS)
def test_fix_has_blocks_answer_that_only_read(tmp_path: Path, head: str, prompt: str) -> None:
    text = f'class Cart: ...\n\n\n{head}\n    """natural\n    {prompt}\n    """\n    return x\n'
    fixed, _ = fix(tmp_path, text)
    assert fixed == text.replace('"""natural', '"""natural(effects="answer")')


@pytest.mark.parametrize(("head", "prompt"), CHANGERS.values(), ids=CHANGERS)
def test_fix_leaves_blocks_that_may_change(tmp_path: Path, head: str, prompt: str) -> None:
    options = "(max_calls=3)" * (prompt == CHANGERS["an option"][1])
    text = f'{head}\n    """natural{options}\n    {prompt}\n    """\n    return 1\n'
    fixed, effects = fix(tmp_path, text)
    assert (fixed, effects) == (text, ["direct"])
