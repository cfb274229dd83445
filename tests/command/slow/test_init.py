"""`njc init`: what it makes passes its own checks and its own test, offline."""

from __future__ import annotations

import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from workplace import Workplace

from njc import __version__


@pytest.fixture
def project(here: Workplace) -> Workplace:
    """Return a project that `njc init` has made."""
    result = here.njc("init", "My Shop")
    assert result.exit_code == 0, result.stderr
    assert "try: cd 'My Shop' && njc check && pytest" in result.stderr
    return Workplace(here.folder / "My Shop")


def test_its_test_passes_on_the_recording(project: Workplace) -> None:
    result = project.python("-m", "pytest", "-q", environ={"OPENAI_BASE_URL": "http://127.0.0.1:9"})
    assert result.returncode == 0, result.stdout + result.stderr
    assert "3 passed" in result.stdout


def test_a_changed_prompt_is_not_in_the_recording(project: Workplace) -> None:
    program = project.read("src/support.njpy")
    project.write({"src/support.njpy": program.replace("should answer", "answers")})
    result = project.python("-m", "pytest", "-q")
    assert result.returncode == 1
    assert "3 failed" in result.stdout


def test_it_has_no_findings_and_builds(project: Workplace) -> None:
    checked = project.process("check", environ={"NJC_WARNINGS": "error"})
    assert (checked.returncode, checked.stderr) == (0, "1 file, nothing found\n")
    assert project.process("build", "-o", "out").returncode == 0
    assert 'effects="answer"' in project.read("out/support.py")


def test_what_the_files_say(project: Workplace) -> None:
    assert project.files() == [
        ".github/workflows/test.yml",
        ".gitignore",
        "README.md",
        "pyproject.toml",
        "src/support.njpy",
        "tests/conftest.py",
        "tests/recordings/support.jsonl",
        "tests/test_support.py",
    ]
    assert 'name = "my-shop"' in project.read("pyproject.toml")
    assert f"njpy>={__version__}" in project.read("pyproject.toml")
    steps = yaml.safe_load(project.read(".github/workflows/test.yml"))["jobs"]["test"]["steps"]
    assert [step.get("run") for step in steps[2:]] == [
        f'pip install "njpy>={__version__}" pytest',
        "NJC_WARNINGS=error njc check",
        "pytest",
    ]
    assert not any("{{" in project.read(path) for path in project.files())


def test_what_it_requires_is_installed(project: Workplace) -> None:
    settings = tomllib.loads(project.read("pyproject.toml"))["project"]
    for text in [*settings["dependencies"], *settings["optional-dependencies"]["dev"]]:
        required = Requirement(text)
        assert required.specifier.contains(metadata.version(required.name)), text


def test_existing_files_stay(here: Workplace) -> None:
    here.write({"README.md": "mine"})
    result = here.njc("init")
    assert result.exit_code == 2
    assert result.stderr == "error: README.md exists; choose another directory\n"
    assert here.files() == ["README.md"]
    below = here.njc("init", "README.md")
    assert below.exit_code == 2
    assert below.stderr.endswith("; choose another directory\n"), "`njc init` has no flag -o"


def test_the_working_directory(here: Workplace) -> None:
    result = here.njc("init", "-v")
    assert result.stderr.splitlines()[-1] == "created 8 files; try: njc check && pytest"
    assert (here.folder / "src" / "support.njpy").is_file()


def test_the_templates_are_in_the_wheel() -> None:
    import njc

    assert list((Path(njc.__file__).parent / "templates" / "project").rglob("*.template"))
    assert sys.version_info >= (3, 11)
