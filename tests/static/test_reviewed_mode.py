"""The mode `reviewed`: data is live and strict, code is in the lock and signed, and nothing else is built."""

from __future__ import annotations

import re

import pytest
from studio import Studio, load

import njrt
from njc.compiler.analysis.reviewed_mode import resolve_mode
from njc.compiler.compiler import analyze
from njc.compiler.frontend.source import SourceFile
from njc.project.config import find_project
from njc.project.units import find_units
from njc.static.write import fill_locked
from njrt.data.options import Options

PROJECT = '[tool.njc]\nsrc = ["."]\nmode = "reviewed"\n'
HEAD = """\
from typing import Literal
import njrt
class Box:
    def __init__(self):
        self.log = []
"""
BLOCK = '''
def f(text: str, box: Box, interface=None):
    {prefix}"""natural{options}
    {prompt}
    """
    return text
'''
DATA = 'Put into <:kind: Literal["a", "b"]> the kind of <text>.'
CODE = "Append <text> to <box.log>."


def block(prompt: str, options: str = "", prefix: str = "") -> str:
    return HEAD + BLOCK.format(prompt=prompt, options=options, prefix=prefix)


@pytest.mark.parametrize(
    ("prompt", "options", "mode", "authority"),
    [
        (DATA, "", "live", "strict"),
        (DATA, '(mode="live")', "live", None),
        (DATA, '(mode="static")', "static", None),
        (DATA, '(authority="code")', "static", "code"),
        (DATA, '(effects="direct")', "static", None),
        (CODE, "", "static", None),
        (CODE, '(effects="answer")', "live", "strict"),
        ("Break if <text> is rude.", "", "static", None),
        ("Return if <text> is rude.", "", "live", "strict"),
        ("Put the sum of <text> into <:n>.", "", "static", None),
    ],
)
def test_the_mode_of_a_block(prompt: str, options: str, mode: str, authority: str | None) -> None:
    analysis = analyze(SourceFile("a.njpy", block(prompt, options).encode()))
    (found,) = analysis.blocks
    resolved = resolve_mode(found, analysis.types, Options(mode="reviewed"))
    assert (resolved.options.mode, resolved.options.authority) == (mode, authority)
    plain = resolve_mode(found, analysis.types, Options(mode="static"))
    assert plain is found


def start(studio: Studio, source: str) -> None:
    studio.write({"pyproject.toml": PROJECT, "shop.njpy": source})


def test_a_block_of_data_cannot_ask_for_code(studio: Studio) -> None:
    start(studio, block(DATA))
    studio.njc("build")  # no model is asked
    space = load(studio.read("shop.py"))
    with njrt.using(model=njrt.Scripted([{"kind": "a"}], protocol="text")):
        assert space["f"]("x", None) == "x"
    says = njrt.Scripted([{"needs_code": "why"}] * 9, protocol="text")
    with njrt.using(model=says), pytest.raises(njrt.PolicyError):
        space["f"]("x", None)


def test_code_is_signed_until_it_changes(studio: Studio) -> None:
    start(studio, block(CODE))
    built = studio.njc("build", replies=["```python\nbox.log.append(text)\n```"])
    assert "may run code" not in built.stderr
    project = find_project(studio.folder, {})
    _, findings = fill_locked(find_units([studio.folder / "shop.njpy"], project), project)
    assert [it.diagnostic.code for it in findings] == ["NJ406"], "no wheel has it"
    refused = studio.njc("build", "--locked", code=1)
    assert "nobody has signed the code of `shop.njpy:f`" in refused.stderr
    studio.njc("build", "--locked", "--unreviewed")
    studio.njc("build", "--check")
    assert "up to date, reviewed by " in studio.njc("lock", "--reviewed", "shop.njpy:f").stdout
    studio.njc("build", "--locked")
    lock = studio.read("njc.lock")
    studio.njc("build")
    assert studio.read("njc.lock") == lock, "the signature stays"
    studio.write({"njc.lock": lock.replace("append(text)", "append(texts)")})
    refused = studio.njc("lock", "--reviewed", "shop.njpy:f", code=2)
    assert "is refused: " in refused.stderr
    studio.write({"njc.lock": lock.replace("append(text)", "append(text + text)")})
    assert "NJ406" in studio.njc("build", "--locked", code=1).stderr
    assert "reviewed by" not in studio.njc("lock").stdout


def test_what_cannot_be_signed(studio: Studio) -> None:
    start(studio, block(CODE))
    assert "name the blocks" in studio.njc("lock", "--reviewed", code=2).stderr
    missing = studio.njc("lock", "--reviewed", "shop.njpy:f", code=2)
    assert "shop.njpy:f has no code to sign: it is missing" in missing.stderr


@pytest.mark.parametrize("flag", ["build --locked", "build --check", "check", "run shop.njpy"])
def test_missing_code_is_an_error_everywhere(studio: Studio, flag: str) -> None:
    start(studio, block(CODE))
    assert "NJ402" in studio.njc(*flag.split(), code=1).output


def test_what_is_known_only_at_run_time_is_an_error(studio: Studio) -> None:
    start(studio, block("Append {text} to <box.log>.", prefix="f"))
    result = studio.njc("build", code=1)
    assert "NJ405" in result.stderr
    assert "its text is known only at run time" in result.stderr
    assert "nothing was written" in result.stderr
    start(studio, block('Put into <:kind: Literal["a", "b"]> the kind of {text}.', prefix="f"))
    studio.njc("build")  # its reply is data


def test_blocks_that_may_run_code_are_counted(studio: Studio) -> None:
    source = block(CODE, '(mode="live")') + BLOCK.format(
        prompt=DATA, options='(mode="live", authority="strict")', prefix=""
    )
    start(studio, source)
    result = studio.njc("build")
    assert result.stderr.splitlines()[-1] == "1 block may run code of a model: shop.njpy:8"


def test_show_names_the_mode(studio: Studio) -> None:
    start(studio, block(DATA) + BLOCK.format(prompt=CODE, options="", prefix=""))
    shown = studio.njc("show", "shop.njpy").stdout
    assert "authority='strict' mode='live'" in shown
    assert "  policy   auto\n  " in shown
    assert "  auto     " not in shown


def test_a_signature_is_for_one_text_and_of_a_person(studio: Studio) -> None:
    start(studio, block(CODE))
    studio.njc("build", replies=["```python\nbox.log.append(text)\n```"])
    assert "up to date, not signed" in studio.njc("lock").stdout
    studio.njc("lock", "--reviewed", "shop.njpy:f")
    lock = studio.read("njc.lock")
    studio.write({"njc.lock": re.sub('by = "[^"]*"', 'by = " "', lock)})
    assert "NJ406" in studio.njc("build", "--locked", code=1).stderr
    studio.write({"njc.lock": lock, "shop.njpy": block(CODE.replace("Append", "Remove"))})
    studio.njc("lock", "--keep", "shop.njpy:f")
    assert "NJ406" in studio.njc("build", "--locked", code=1).stderr
    start(studio, block(CODE, '(mode="static")'))
    studio.write({"njc.lock": re.sub("reviewed = .*\n", "", lock)})
    studio.njc("lock", "--keep", "shop.njpy:f")
    # Its mode is the project's promise.
    assert "NJ406" in studio.njc("build", "--locked", code=1).stderr


def test_a_block_that_can_have_no_code_blames_no_other(studio: Studio) -> None:
    other = BLOCK.format(prompt="Append {text} to <box.log>.", options="", prefix="f")
    start(studio, block(CODE) + other.replace("def f", "def g"))
    result = studio.njc("build", "--writer", "folder:ask", "--writer-name", "Ada", code=1)
    assert "NJ405" in result.stderr
    assert not (studio.folder / "ask").exists()
