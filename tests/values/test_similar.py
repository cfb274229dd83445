"""Suggestions for misspelled names: the right one or none, everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import njrt
from njc.commands import njc
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njrt.data.options import OPTION_NAMES, find_option_problem
from njrt.data.similar import find_similar

OPTIONS = {
    **dict.fromkeys(("modle", "mdoel", "modl", "moddel", "moDel", "omdel", "nodel"), "model"),
    **dict.fromkeys(("mdoe", "moed", "modes", "mod_e", "mod"), "mode"),
    "max_call": "max_calls",
    "max-efects": "max_effects",
    "maxTokens": "max_tokens",
    "temprature": "temperature",
    "budgte": "budget",
    **dict.fromkeys(("timeout", "seed", "retry", "moral", "code", "node", "m", "", "Model"), None),
}
NAMES = {
    ("itme", "item time iter"): "item",
    ("pricess", "prices price pieces"): "prices",
    ("respones", "response ready"): "response",
    ("userName", "user_name username_list"): "user_name",
    ("allm", "llm mail"): "llm",
    ("volume", "value"): None,
    ("date", "data"): None,
    ("item", "iter"): None,
    ("row", "raw"): None,
    ("items", "times"): None,
    ("total1", "total2 total3"): None,
    ("mail", "email main"): "email",
    ("x", "xs y"): None,
    ("X", "x"): None,
    ("Enemy", "enemy enemies"): None,
    ("Knd", "kind"): None,
    ("Enmy", "Enemy enemy"): "Enemy",
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name: str) -> None:
    meant = OPTIONS[name]
    end = f"; did you mean `{meant}`?" if meant else ""
    assert find_option_problem(name, "live") == f"unknown option `{name}`{end}"


@pytest.mark.parametrize(("name", "known"), NAMES)
def test_names(name: str, known: str) -> None:
    assert find_similar(name, known.split()) == NAMES[name, known]


@given(st.sampled_from(OPTION_NAMES), st.integers(0, 12), st.sampled_from("aeqz_"))
def test_a_typo_in_an_option_never_leads_to_another_option(name: str, at: int, letter: str) -> None:
    at = min(at, len(name) - 1)
    exchanged = name[:at] + name[at : at + 2][::-1] + name[at + 2 :]
    for typo in (exchanged, name[:at] + letter + name[at:], name[:at] + name[at + 1 :]):
        found = find_similar(typo, OPTION_NAMES)
        assert typo in OPTION_NAMES or found in (name, None) or typo.startswith("mod")


@pytest.mark.parametrize("place", ["comment", "marker", "flag", "project", "variable", "using"])
def test_modle_is_never_taken_for_mode(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = '"""natural\nPut 1 into <:x: int>.\n"""\nprint(x)\n'
    if place in ("comment", "marker"):
        marked = block.replace("natural", "natural(modle='m')")
        text = f"# njc: modle=m\n{block}" if place == "comment" else marked
        (finding,) = compile_source(SourceFile("p.njpy", text.encode())).diagnostics
        told = finding.message
    elif place == "using":
        with pytest.raises((TypeError, njrt.ConfigurationError)) as raised, njrt.using(modle="m"):  # type: ignore[call-arg]
            pass
        told = str(raised.value)
    else:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "p.njpy").write_text(block)
        table = '[tool.njc]\nmodle = "m"\n' if place == "project" else "[tool.njc]\n"
        (tmp_path / "pyproject.toml").write_text(table)
        if place == "variable":
            monkeypatch.setenv("NJC_MODLE", "m")
            arguments = ["doctor"]
        else:
            arguments = ["build", "p.njpy", *(["--set", "modle=m"] if place == "flag" else [])]
        told = CliRunner().invoke(njc, arguments).output
    assert "modle" in told.lower()
    assert "`mode`" not in told
    assert "NJC_MODE?" not in told
    assert "did you mean" in told


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("doctor --ofline", " Did you mean '--offline'?"),
        ("init --modle", ""),
    ],
)
def test_flags(command: str, hint: str) -> None:
    result = CliRunner().invoke(njc, command.split())
    assert result.exit_code == 2
    flag = command.split()[1]
    assert result.output.rstrip().endswith(f"No such option '{flag}'.{hint}")
