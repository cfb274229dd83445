"""`njc annotate`: types that a program lacks, stated ones first, then those that a model proposes and that hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from openai_server import OpenAIServer, Status, says

PROGRAM = '''\
"""Letters."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Order:
    item: str


def judge(review):
    """natural
    Put into <:mood> how the author of <review> feels.
    """
    return mood


def order(letter: str):
    """natural
    Make an <Order> of <letter>. Put it into <:ordered>.
    """
    return ordered


print(judge(open("review.txt").read()))
'''


class Proposer(OpenAIServer):
    """A server that answers with the type of the variable that is asked for."""

    def __init__(
        self, types: dict[str, str], answer: Callable[[str], str] = lambda text: ""
    ) -> None:
        super().__init__(vendor=False, models=("small",))
        self.types = types
        self.answer = answer
        self.asked: list[str] = []

    def answer_without_script(self, seen: Any) -> Any:
        if seen.path == "/v1/models":
            return super().answer_without_script(seen)
        text = seen.body["messages"][-1]["content"]
        for name, type_ in self.types.items():
            if f"has the variable `{name}`" in text or f"has the parameter `{name}`" in text:
                self.asked.append(name)
                return says(type_)
        return says(self.answer(text))


def annotate(
    folder: Path, types: dict[str, str], *words: str, program: str = PROGRAM, **settings: Any
) -> tuple[subprocess.CompletedProcess[str], str, list[str]]:
    """Run the command; return how it ended, the source, and the names that were asked for."""
    file = folder / "letters.njpy"
    file.write_text(program)
    with Proposer(types, **settings) as server:
        done = subprocess.run(
            [sys.executable, "-m", "njc", "annotate", str(file), *words],
            cwd=folder,
            env={**os.environ, "NJC_BASE_URL": server.base_url, "NJC_MODEL": "openai/small"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done, file.read_text(), server.asked


GOOD = {"review": "`str`", "mood": '```python\nLiteral["good", "bad"]\n```', "ordered": "Order"}


def test_a_diff_is_shown_and_nothing_is_written(tmp_path: Path) -> None:
    done, text, asked = annotate(tmp_path, GOOD)
    assert done.returncode == 0, done.stderr
    assert text == PROGRAM
    assert asked == ["mood", "review", "ordered"]
    for line in (
        "+def judge(review: str):",
        '+    Put into <:mood: Literal["good", "bad"]> how the author of <review> feels.',
        "+    Make an <Order> of <letter>. Put it into <:ordered: Order>.",
        "+from typing import Literal",
    ):
        assert line in done.stdout.splitlines(), done.stdout
    assert "1 file to be annotated; --write does it" in done.stderr


def test_written_types_make_blocks_answer(tmp_path: Path) -> None:
    done, text, _ = annotate(tmp_path, GOOD, "--write")
    assert done.returncode == 0, done.stderr
    compiled = compile_source(SourceFile("letters.njpy", text.encode()))
    assert [authority.effects for authority in compiled.authorities] == ["answer", "answer"]
    again, after, asked = annotate(tmp_path, {}, program=text)
    assert "no type to add" in again.stderr
    assert (after, asked) == (text, [])


def test_an_edit_while_a_model_answers_is_kept(tmp_path: Path) -> None:
    edited = PROGRAM + "# edited\n"

    def edit(text: str) -> str:
        (tmp_path / "letters.njpy").write_text(edited)
        return "str"

    done, text, _ = annotate(tmp_path, {}, "--write", answer=edit)
    assert (done.returncode, text) == (2, edited)
    assert "letters.njpy was changed meanwhile; run the command again" in done.stderr


def test_without_a_model_the_stated_types_are_written(tmp_path: Path) -> None:
    file = tmp_path / "letters.njpy"
    file.write_text(PROGRAM.replace("return mood", "return mood.strip()"))
    environ = {name: value for name, value in os.environ.items() if "_API_KEY" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "njc", "annotate", str(file), "--write"],
        cwd=tmp_path,
        env={name: value for name, value in environ.items() if not name.startswith("NJC_")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "1 file annotated\nerror: letters.njpy:13: no model is configured" in done.stderr
    assert "<:mood: str>" in file.read_text()


NO_TYPES = {
    "a sentence": "The type is str.",
    "a call": "print('x')",
    "an unknown name": "Letter",
    "nothing": "object",
    "a value": '"str"',
    "two imports": "Sequence[date]",
    "a function": "lambda: 3",
    "an item of a type": "list[int][0]",
    "an attribute of a class": "datetime.date",
}


@pytest.mark.parametrize("answer", NO_TYPES.values(), ids=NO_TYPES)
def test_what_is_no_type_is_not_written(tmp_path: Path, answer: str) -> None:
    done, text, asked = annotate(tmp_path, {**GOOD, "mood": answer}, "--write")
    assert done.returncode == 0, done.stderr
    assert "mood" in asked
    assert "<:mood>" in text
    assert "`mood`: no type can be made of" in done.stderr
    assert "<:ordered: Order>" in text


def test_a_type_that_mypy_refuses_is_left_out(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    done, text, _ = annotate(tmp_path, {**GOOD, "review": "int"}, "--write")
    assert "def judge(review):" in text
    assert "`review: int` is left out: Argument 1" in done.stderr
    assert "<:mood: Literal" in text


def test_data_is_not_proposed_for_code(tmp_path: Path) -> None:
    program = 'def f(topic: str):\n    """natural\n    Create a generator <:items> on <topic>.\n    """\n    return items\n'
    done, text, asked = annotate(tmp_path, {"items": "list[str]"}, "--write", program=program)
    assert asked == ["items"]
    assert text == program
    assert "no type can be made of 'list[str]'" in done.stderr


def test_no_type_is_proposed_that_forbids_to_change_an_input(tmp_path: Path) -> None:
    block = '"""natural\n    Put the number of rude <mails> into <:n: int>.\n    """'
    program = f"def f(mails):\n    {block}\n    return n\n"
    done, text, _ = annotate(tmp_path, {"mails": "Sequence[str]"}, "--write", program=program)
    assert done.returncode == 0, done.stderr
    assert "def f(mails: list[str]):" in text


@pytest.mark.parametrize(("team", "kept"), [("billing", True), ("it", False)])
def test_types_with_which_fewer_cases_pass_are_left_out(
    tmp_path: Path, team: str, kept: bool
) -> None:
    program = 'def route(mail: str):\n    """natural\n    Put into <:team> the team for <mail>.\n    """\n    return team\n'
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps({"inputs": {"mail": "x"}, "expect": "billing"}) + "\n")

    def answer(text: str) -> str:
        typed = "Reply with" in text
        return json.dumps({"team": team}) if typed else "```python\nteam = 'billing'\n```"

    done, text, _ = annotate(
        tmp_path,
        {"team": "str"},
        "--write",
        "--cases",
        "route",
        str(cases),
        program=program,
        answer=answer,
    )
    assert done.returncode == 0, done.stderr
    assert ("<:team: str>" in text) is kept
    assert f"1 cases pass without the types, {int(kept)} with them" in done.stderr


def test_the_model_of_the_project_is_asked(tmp_path: Path) -> None:
    program = 'def route(mail: str):\n    """natural\n    Put into <:team> the team for <mail>.\n    """\n    return team\n'
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "letters.njpy").write_text(program)
    (tmp_path / "cases.jsonl").write_text('{"inputs": {"mail": "x"}, "expect": "billing"}\n')
    environ = {name: value for name, value in os.environ.items() if not name.startswith("NJC_")}

    def answer(text: str) -> str:
        return '{"team": "billing"}' if "Reply with" in text else "```python\nteam = 'billing'\n```"

    with Proposer({"team": "str"}, answer=answer) as server:
        settings = f'model = "openai/small"\nbase-url = "{server.base_url}"\nsrc = ["src"]\n'
        (tmp_path / "pyproject.toml").write_text(f"[tool.njc]\n{settings}")
        done = subprocess.run(
            [sys.executable, "-m", "njc", "annotate", "src/letters.njpy", "--cases", "route", "cases.jsonl"],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "+    Put into <:team: str>" in done.stdout
    assert "1 cases pass without the types, 1 with them" in done.stderr


@pytest.mark.parametrize("tail", ["", "\nprint(mood)\n"])
def test_blocks_of_a_module_get_types(tmp_path: Path, tail: str) -> None:
    program = f'"""natural\nPut into <:mood> a word.\n"""{tail}'
    done, text, _ = annotate(tmp_path, {"mood": "str"}, "--write", program=program)
    assert (done.returncode, "<:mood: str>" in text) == (0, True), done.stderr


def test_wrong_usage(tmp_path: Path) -> None:
    done, text, asked = annotate(tmp_path, GOOD, program="def f(:\n")
    assert (done.returncode, text, asked) == (2, "def f(:\n", [])
    assert "has errors" in done.stderr
    asked = annotate(tmp_path, GOOD, "--cases", "judge", "missing.jsonl")[2]
    assert asked == []
    (tmp_path / "z.njpy").write_text("def f(:\n")
    done, _, asked = annotate(tmp_path, GOOD, str(tmp_path / "z.njpy"))
    assert (done.returncode, asked) == (2, [])
    assert "z.njpy has errors" in done.stderr


def test_types_that_were_proposed_before_a_failure_are_kept(tmp_path: Path) -> None:
    class Failing(Proposer):
        def answer_without_script(self, seen: Any) -> Any:
            answer = super().answer_without_script(seen)
            return answer if len(self.asked) < 2 else Status(401, body={})

    file = tmp_path / "letters.njpy"
    file.write_text(PROGRAM)
    with Failing(GOOD) as server:
        done = subprocess.run(
            [sys.executable, "-m", "njc", "annotate", str(file), "--write"],
            env={**os.environ, "NJC_BASE_URL": server.base_url, "NJC_MODEL": "openai/small"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode != 0
    assert "<:mood: Literal" in file.read_text()


def test_a_program_in_cases_reads_files_beside_it(tmp_path: Path) -> None:
    program = """from pathlib import Path

TEAM = Path(__file__).with_name("team.txt").read_text()


class Desk:
    @staticmethod
    def route(mail):
        \"\"\"natural
        Put into <:team> the team for <mail>.
        \"\"\"
        return TEAM


def route(mail: str):
    return Desk.route(mail)
"""
    (tmp_path / "team.txt").write_text("billing")
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps({"inputs": {"mail": "x"}, "expect": "billing"}) + "\n")
    done, text, _ = annotate(
        tmp_path,
        {"team": "str", "mail": "str"},
        *("--write", "--cases", "route", str(cases)),
        program=program,
        answer=lambda text: '{"team": "x"}' if "Reply with" in text else "```python\nteam = 1\n```",
    )
    assert done.returncode == 0, done.stderr
    assert "1 cases pass without the types, 1 with them" in done.stderr
    assert 'def route(mail: str):\n        "' in text
