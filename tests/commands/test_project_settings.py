"""The project's settings: the file, the environment over it, the flags over both."""

from __future__ import annotations

from pathlib import Path

import pytest

from njc.project.config import apply_environment, check_required_version, find_project, make_project
from njrt.data.options import Options
from njrt.errors import ConfigurationError

FILE = Path("/project/pyproject.toml")


def test_every_key_is_read() -> None:
    project = make_project(
        {
            "src": ["src", "lib"],
            "out": "build",
            "include": ["app/*"],
            "exclude": "drafts",
            "required-version": ">=0.1",
            "warnings": "error",
            "model": "openai/gpt-4.1",
            "max-effects": 20,
        },
        FILE,
    )
    assert project.file == FILE
    assert project.src == (Path("/project/src"), Path("/project/lib"))
    assert project.out == Path("/project/build")
    assert (project.include, project.exclude) == (("app/*",), ("drafts",))
    assert (project.required_version, project.warnings) == (">=0.1", "error")
    assert project.options == Options(model="openai/gpt-4.1", max_effects=20)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"sr": "src"}, "unknown key `sr`; did you mean `src`?"),
        ({"max_effects": 20}, "unknown key `max_effects`; did you mean `max-effects`?"),
        ({"modell": "x"}, "unknown key `modell`; did you mean `model`?"),
        ({"zzzzzz": 1}, "unknown key `zzzzzz`; the keys are src, out, "),
        ({"src": 3}, "`src` must be a directory or a list of them, not 3"),
        ({"out": ["a"]}, "`out` must be a string that is not empty and has no NUL, not ['a']"),
        ({"out": ""}, "`out` must be a string that is not empty and has no NUL, not ''"),
        ({"out": "a\0"}, "`out` must be a string that is not empty and has no NUL, not 'a"),
        ({"src": ["a\0"]}, "`src` must be a string that is not empty and has no NUL, not ['a"),
        ({"exclude": [""]}, "`exclude` must be a list of patterns, not ['']"),
        ({"warnings": "loud"}, "`warnings` must be `default` or `error`, not 'loud'"),
        ({"max-effects": 0}, "option `max_effects` must be a whole number from 1, not 0"),
        ({"mode": "dead"}, "option `mode` must be one of live, "),
    ],
)
def test_mistakes_are_named(table: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make_project(table, FILE)
    assert str(caught.value).startswith(f"{FILE}: [tool.njc]: ")
    assert message in str(caught.value)


def test_the_nearest_table_upwards_counts(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.njc]\nout = "far"\n')
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\n")
    assert find_project(deep, {}).out == tmp_path / "far"
    (tmp_path / "a" / "pyproject.toml").write_text('[tool.njc]\nout = "near"\n')
    assert find_project(deep, {}).out == tmp_path / "a" / "near"
    (deep / ".git").mkdir()
    assert find_project(deep, {}).file is None


@pytest.mark.parametrize("text", ["[tool.njc", "tool.njc = 3\n", "x = '\xff'"])
def test_a_broken_file_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"pyproject\.toml: "):
        find_project(tmp_path, {})


def test_the_environment_overrides_the_file() -> None:
    project = make_project({"out": "build", "exclude": ["a"], "model": "m"}, FILE)
    environ = {
        "NJC_OUT": "there",
        "NJC_EXCLUDE": "b, c,",
        "NJC_WARNINGS": "error",
        "NJC_REQUIRED_VERSION": "",
        "NJC_MODEL": "n",
    }
    changed = apply_environment(project, environ, Path("/project"))
    assert changed.out == Path("/project/there")
    assert changed.exclude == ("b", "c")
    assert changed.warnings == "error"
    assert changed.required_version is None
    assert changed.options.model == "m", "the environment's model is the business of the run"


@pytest.mark.parametrize(
    ("requirement", "version", "is_met"),
    [
        (None, "0.1.0", True),
        ("0.1", "0.1.0", True),
        ("==0.1.*", "0.1.7", True),
        ("==0.1.*", "0.2.0", False),
        ("!=0.1.*", "0.1.7", False),
        (">=0.1, <0.3", "0.2.9", True),
        (">=0.1,<0.3", "0.3", False),
        ("~=1.4.2", "1.4.9", True),
        ("~=1.4.2", "1.5.0", False),
        (">0.9", "0.10", True),
        ("<=0.1", "0.1.0.dev3", True),
    ],
)
def test_required_versions(requirement: str | None, version: str, is_met: bool) -> None:
    if is_met:
        check_required_version(requirement, version)
    else:
        with pytest.raises(ConfigurationError, match=rf"this is njc {version}, but .* requires "):
            check_required_version(requirement, version)


@pytest.mark.parametrize("requirement", ["new", ">=", "1.x"])
def test_a_required_version_that_is_none(requirement: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot read the required version"):
        check_required_version(requirement, "0.1.0")
