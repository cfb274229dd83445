"""`njc init`: what it makes passes its own checks and its own test, offline."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from workplace import Workplace, build_wheel, read_wheel

from njc import __version__
from njc.commands.init import find_requirement

FILES = [
    *(".github/workflows/test.yml", ".gitignore", "README.md", "pyproject.toml"),
    *("src/support.njpy", "tests/conftest.py", "tests/recordings/support.jsonl"),
    "tests/test_support.py",
]


@pytest.fixture
def project(here: Workplace) -> Workplace:
    """Return a project that `njc init` has made."""
    assert "try: cd 'My Shop' && njc check && pytest" in here.njc("init", "My Shop").stderr
    return Workplace(here.folder / "My Shop")


def test_its_test_passes_on_the_recording(project: Workplace) -> None:
    result = project.python("-m", "pytest", "-q", environ={"OPENAI_BASE_URL": "http://127.0.0.1:9"})
    assert "3 passed" in result.stdout


def test_a_changed_prompt_is_not_in_the_recording(project: Workplace) -> None:
    program = project.read("src/support.njpy")
    project.write({"src/support.njpy": program.replace("should answer", "answers")})
    few = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "njrt.pytest_plugin"}
    assert "3 failed" in project.python("-m", "pytest", "-q", environ=few, code=1).stdout


def test_it_has_no_findings_and_builds(project: Workplace) -> None:
    checked = project.process("check", environ={"NJC_WARNINGS": "error"})
    assert checked.stderr == "1 file, nothing found\n"
    project.process("build", "-o", "out")
    assert 'effects="answer"' in project.read("out/support.py")


def test_what_the_files_say(project: Workplace) -> None:
    assert project.files() == FILES
    assert 'name = "my-shop"' in project.read("pyproject.toml")
    runtime, njpy = map(find_requirement, ("njpy-runtime", "njpy"))
    settings = tomllib.loads(project.read("pyproject.toml"))
    assert settings["project"]["dependencies"] == [f"njpy-runtime>={__version__}"]
    assert settings["build-system"]["requires"][1:] == [runtime, njpy]
    assert f'pip install "{runtime}" "{njpy}" pytest' in project.read("README.md")
    steps = yaml.safe_load(project.read(".github/workflows/test.yml"))["jobs"]["test"]["steps"]
    assert [step.get("run") for step in steps[2:]] == [
        f'pip install "{runtime}" "{njpy}" pytest',
        "NJC_WARNINGS=error njc check",
        "njc build --locked",
        "pytest",
    ]
    assert not any("{{" in project.read(path) for path in project.files())


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, f"njpy>={__version__}"),
        ({"url": "file:///srv/njpy", "dir_info": {}}, "njpy @ file:///srv/njpy"),
        ({"url": "file:///srv/njpy", "dir_info": {"editable": True}}, "njpy @ file:///srv/njpy"),
        (
            {"url": "https://files.test/njpy.whl", "archive_info": {}},
            "njpy @ https://files.test/njpy.whl",
        ),
        (
            {"url": "https://git.test/njpy", "vcs_info": {"vcs": "git", "commit_id": "0a1b"}},
            "njpy @ git+https://git.test/njpy@0a1b",
        ),
        (
            {
                "url": "https://git.test/njpy",
                "vcs_info": {"vcs": "git", "commit_id": "0a1b"},
                "subdirectory": "runtime",
            },
            "njpy @ git+https://git.test/njpy@0a1b#subdirectory=runtime",
        ),
    ],
)
def test_njpy_is_required_from_the_place_that_it_was_installed_from(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    origin: dict[str, Any] | None,
    requirement: str,
) -> None:
    """No package index has it."""
    folder = tmp_path / "njpy-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: njpy\nVersion: 1\n")
    if origin is not None:
        (folder / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    assert find_requirement("njpy") == requirement
    assert Requirement(requirement).name == "njpy"
    assert find_requirement("njpy-runtime") == f"njpy-runtime>={__version__}"


def test_it_builds_a_wheel_with_its_compiled_file(project: Workplace) -> None:
    build_wheel(project)
    files = read_wheel(project)
    assert files["support.py"].startswith("# compiled by njc")
    assert "support.njpy" in files
    info = files["my_shop-0.1.0.dist-info/METADATA"]
    assert re.findall("^Requires-Dist: (.*)$", info, re.MULTILINE) == [
        f"njpy-runtime>={__version__}"
    ]


def test_git_ignores_what_it_makes(project: Workplace) -> None:
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=project.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    git("init", "-q")
    project.process("build")
    project.write({"trace.jsonl": "", "traces/a.jsonl": "", "dist/a.whl": ""})
    assert (project.folder / "out" / "support.py").exists()
    untracked = git("status", "--short", "--untracked-files=all").splitlines()
    assert [line.removeprefix("?? ") for line in untracked] == FILES


def test_existing_files_stay(here: Workplace) -> None:
    here.write({"README.md": "mine"})
    assert here.njc("init", code=2).stderr == "error: README.md exists; choose another directory\n"
    assert here.files() == ["README.md"]
    below = here.njc("init", "README.md", code=2)
    assert below.stderr.endswith("; choose another directory\n"), "`njc init` has no flag -o"


def test_the_working_directory(here: Workplace) -> None:
    result = here.njc("init", "-v")
    assert result.stderr.splitlines()[-1] == "created 8 files; try: njc check && pytest"
    assert (here.folder / "src" / "support.njpy").is_file()
