"""The two distributions: what is in each, what each requires, and the runtime alone in a bare environment."""

from __future__ import annotations

import ast
import re
import shutil
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path
from typing import Any

import pytest
from bare_environments import BareEnvironment, build_wheel, run_command
from packaging.requirements import Requirement

import njc
import njrt

ROOT = Path(__file__).parents[3]
COMPILER: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUNTIME: dict[str, Any] = tomllib.loads((ROOT / "runtime/pyproject.toml").read_text())["project"]
RUNTIME_FILES = sorted((ROOT / "runtime/njrt").rglob("*.py"))

NOT_IN_ALL = {"all", "dask", "dev", "test", "test-libraries"}
"""Extras for developers, and one that is left out for its size."""

HATCH_PROJECT = """
[build-system]
requires = ["hatchling", "njpy"]
build-backend = "hatchling.build"

[project]
name = "shop"
version = "1.0"
dependencies = ["njpy-runtime>=0.2.0"]

[tool.hatch.build.targets.wheel]
packages = ["shop"]

[tool.hatch.build.hooks.njc]
"""
PROGRAM = '''
def count(text: str) -> int:
    """natural
    Put into <:words: int> how many words <text> has.
    """
    return words
'''
CALL = """
import njrt, shop.count
with njrt.using(model=njrt.Scripted(['{"words": 2}'])):
    print(shop.count.count("two words"))
"""
IMPORT_ALL = """
import importlib, pkgutil, sys, njrt
for module in pkgutil.walk_packages(njrt.__path__, "njrt."):
    if module.name != "njrt.pytest_plugin":
        importlib.import_module(module.name)
print(*{name.partition(".")[0] for name in sys.modules})
"""


def list_files(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as opened:
        return sorted(name for name in opened.namelist() if ".dist-info/" not in name)


def read_information(wheel: Path, file: str) -> str:
    """Return the text of a file in the folder `.dist-info` of a wheel."""
    with zipfile.ZipFile(wheel) as opened:
        (name,) = [name for name in opened.namelist() if name.endswith(f".dist-info/{file}")]
        return opened.read(name).decode()


def list_required(wheel: Path) -> list[str]:
    metadata = message_from_string(read_information(wheel, "METADATA"))
    return metadata.get_all("Requires-Dist") or []


@pytest.fixture(scope="module")
def runtime_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of njpy-runtime."""
    return build_wheel(ROOT / "runtime", tmp_path_factory.mktemp("runtime"))


@pytest.fixture(scope="module")
def runtime_alone(runtime_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> BareEnvironment:
    """Return an environment in which njpy-runtime is installed, with what it requires and nothing else."""
    place = BareEnvironment(tmp_path_factory.mktemp("bare") / "env")
    place.link(*RUNTIME["dependencies"])
    place.install(runtime_wheel)
    return place


# ── What the project files say ───────────────────────────────────────────────────────────────────


def test_both_distributions_have_one_version() -> None:
    versions = {COMPILER["version"], RUNTIME["version"], njc.__version__, njrt.__version__}
    assert len(versions) == 1
    assert f"njpy-runtime=={njc.__version__}" in COMPILER["dependencies"]


def test_extras_of_the_runtime_are_forwarded() -> None:
    extras = COMPILER["optional-dependencies"]
    for name in RUNTIME["optional-dependencies"].keys() - {"all"}:
        assert extras[name][0] == f"njpy-runtime[{name}]"


@pytest.mark.parametrize("project", [COMPILER, RUNTIME], ids=lambda project: project["name"])
def test_all_is_all_extras(project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    (everything,) = map(Requirement, extras["all"])
    assert everything.name == project["name"]
    assert everything.extras == extras.keys() - NOT_IN_ALL


def find_foreign_imports(tree: ast.AST) -> set[str]:
    """Return the top-level names of the modules imported that are neither Python's nor the runtime's."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found - sys.stdlib_module_names - {"njrt", "annotationlib"}  # Python 3.14


def test_every_module_that_the_runtime_imports_is_required_or_in_an_extra() -> None:
    optional = RUNTIME["optional-dependencies"].values()
    texts = [*RUNTIME["dependencies"], *(text for texts in optional for text in texts)]
    listed = {Requirement(text).name for text in texts}
    listed |= {"pytest"}  # loads the plugin itself
    listed |= {"typing-extensions", "pydantic-core"}  # pydantic requires them
    listed |= {"anyio", "httpx2"}  # mcp requires them
    listed |= {"numpy"}  # for type checkers, and where the program has imported it
    missing = [
        (path.relative_to(ROOT).as_posix(), name)
        for path in RUNTIME_FILES
        for name in find_foreign_imports(ast.parse(path.read_bytes()))
        if not any(f"{required}-".startswith(f"{name}-".replace("_", "-")) for required in listed)
    ]
    assert missing == []


def test_messages_of_the_runtime_install_extras_of_the_runtime() -> None:
    """Who has the runtime alone is not told to install the compiler."""
    wrong = [path.name for path in RUNTIME_FILES if re.search(r"njpy\[", path.read_text())]
    assert wrong == []


def test_every_extra_that_a_message_names_exists() -> None:
    projects = {"njpy": COMPILER, "njpy-runtime": RUNTIME}
    folders = [
        ROOT / "runtime/njrt",
        ROOT / "njc",
        ROOT / "spsbench",
        ROOT / "docs",
        ROOT / "examples",
    ]
    files = [
        path
        for folder in folders
        for ext in ("py", "md", "template", "txt")
        for path in folder.rglob(f"*.{ext}")
    ]
    named = [
        (path.name, name, extra.strip())
        for path in files
        for name, extras in re.findall(r"\b(njpy(?:-runtime)?)\[([\w, -]+)\]", path.read_text())
        for extra in extras.split(",")
    ]
    assert named
    assert [
        (path, name, extra)
        for path, name, extra in named
        if extra not in projects[name]["optional-dependencies"]
    ] == []


# ── What is built ────────────────────────────────────────────────────────────────────────────────


def test_the_runtime_wheel_has_the_runtime_alone(runtime_wheel: Path) -> None:
    files = list_files(runtime_wheel)
    ours = [path.relative_to(ROOT / "runtime").as_posix() for path in RUNTIME_FILES]
    assert [name for name in files if name.endswith(".py")] == ours
    assert "njrt/py.typed" in files
    assert {name.partition("/")[0] for name in files} == {"njrt"}
    assert [text for text in list_required(runtime_wheel) if "extra ==" not in text] == [
        "pydantic>=2.7"
    ]
    entry_points = read_information(runtime_wheel, "entry_points.txt")
    assert entry_points.strip() == "[pytest11]\nnjrt = njrt.pytest_plugin"


def test_the_compiler_wheel_requires_the_runtime_of_its_version(tmp_path: Path) -> None:
    """It is built from the source distribution, in which the runtime is not."""
    run_command(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path, cwd=ROOT)
    (source,) = tmp_path.glob("njpy-*.tar.gz")
    with tarfile.open(source) as opened:
        opened.extractall(tmp_path / "source", filter="data")
    (extracted,) = (tmp_path / "source").iterdir()
    assert not (extracted / "runtime").exists()
    wheel = build_wheel(extracted, tmp_path)
    assert {name.partition("/")[0] for name in list_files(wheel)} == {"njc"}
    required = list_required(wheel)
    assert f"njpy-runtime=={njc.__version__}" in required
    assert "njpy-runtime[openai]; extra == 'openai'" in required
    assert not [text for text in required if "@" in text]


def test_the_benchmark_is_a_distribution_of_its_own(tmp_path: Path) -> None:
    wheel = build_wheel(ROOT / "spsbench", tmp_path)
    files = list_files(wheel)
    assert {name.partition("/")[0] for name in files} == {"spsbench"}
    programs = [name for name in files if name.endswith("/natural.njpy")]
    assert len(programs) == 25
    assert not [name for name in files if "results/" in name]
    assert [name for name in files if name.endswith("/neural/weights/small.npz")]
    data = [name.rpartition("/")[2] for name in files if name.endswith(".toml")]
    assert data == ["published.toml"]
    required = [text for text in list_required(wheel) if "extra" not in text]
    assert required == [f"njpy[bench]=={njc.__version__}"]
    entry_points = read_information(wheel, "entry_points.txt")
    assert entry_points.split()[1:] == ["spsbench", "=", "spsbench.cli:main"]


def test_no_file_is_in_two_wheels(runtime_wheel: Path, tmp_path: Path) -> None:
    """Otherwise the removal of one distribution would break the other."""
    wheels = [runtime_wheel, *(build_wheel(ROOT / name, tmp_path) for name in (".", "spsbench"))]
    files = [name for wheel in wheels for name in list_files(wheel)]
    assert len(set(files)) == len(files)


# ── How a clone is installed ─────────────────────────────────────────────────────────────────────


FLAGS = ("--no-index", "--no-build-isolation", "--no-compile", "--disable-pip-version-check", "-q")
PROJECT_STEPS = ("init shop", "check shop", "build shop/src -o out")
SOURCES = {
    "extras": ("{clone}/runtime[otel]", "{clone}[otel]"),
    "editable": ("-e", "{clone}/runtime", "-e", "{clone}"),
    "git": ("git+file://{clone}#subdirectory=runtime", "git+file://{clone}"),
}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository of Git with the files of this one."""
    place = tmp_path_factory.mktemp("clone") / "clone"
    ignored = shutil.ignore_patterns(".*", "build", "compiled_out", "results")
    shutil.copytree(ROOT, place, ignore=ignored)
    settings = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for words in (["init", "-q"], ["add", "-A"], [*settings, "commit", "-qm", "all"]):
        run_command("git", *words, cwd=place)
    return place


@pytest.mark.parametrize("source", SOURCES)
def test_a_clone_is_installed_in_one_line(clone: Path, tmp_path: Path, source: str) -> None:
    """It is used as README and the tutorial do; then the compiler goes, and the runtime stays."""
    place = BareEnvironment(tmp_path / "env")
    place.link(*RUNTIME["dependencies"], "click", "hatchling", "packaging", "pytest", "rich")
    if source == "editable":
        place.link("editables")  # of hatchling
    if source == "extras":
        place.link("opentelemetry-api")
    words = [word.format(clone=clone) for word in SOURCES[source]]
    pip = (sys.executable, "-m", "pip", "--python", place.interpreter)
    run_command(*pip, "install", *FLAGS, *words)
    for step in PROJECT_STEPS:
        run_command(place.folder / "bin/njc", *step.split(), cwd=tmp_path, env=place.environ)
    assert "3 passed" in place.python("-m", "pytest", cwd=tmp_path / "shop")
    run_command(*pip, "uninstall", "-q", "-y", "njpy")
    assert place.python("-c", "import njrt; print(njrt.__version__)") == f"{njrt.__version__}\n"
    place.python("-c", "import importlib.util as u; assert not u.find_spec('njc')", cwd=tmp_path)


def test_uv_installs_a_clone(clone: Path, tmp_path: Path) -> None:
    if (uv := shutil.which("uv")) is None:
        pytest.skip("uv is not installed")
    place = BareEnvironment(tmp_path / "env")
    place.link(*RUNTIME["dependencies"], "click", "hatchling", "packaging")
    flags = ("--offline", "--no-build-isolation", "--python", place.interpreter)
    run_command(uv, "pip", "install", "-q", *flags, clone / "runtime", clone)
    run_command(place.folder / "bin/njc", "--version", env=place.environ)


def test_a_project_of_init_is_installed_with_its_tests(clone: Path, tmp_path: Path) -> None:
    place = BareEnvironment(tmp_path / "env")
    place.link(*RUNTIME["dependencies"], "click", "hatchling", "packaging", "pytest", "setuptools")
    pip = (sys.executable, "-m", "pip", "--python", place.interpreter, "install", *FLAGS)
    run_command(*pip, clone / "runtime", clone)
    run_command(place.folder / "bin/njc", "init", "shop", cwd=tmp_path, env=place.environ)
    run_command(*pip, "--no-deps", tmp_path / "shop")
    printed = place.python(
        "-c",
        "import support; from importlib import metadata; print(support.__file__, metadata.version('shop'))",
    )
    assert printed.endswith("site-packages/support.py 0.1.0\n")


# ── What is installed ────────────────────────────────────────────────────────────────────────────


def test_every_module_of_the_runtime_is_imported_without_compiler_and_extras(
    runtime_alone: BareEnvironment,
) -> None:
    loaded = set(runtime_alone.python("-c", IMPORT_ALL).split())
    assert "njrt" in loaded
    assert not loaded & {"njc", "spsbench", "click", "openai", "anthropic", "rich", "packaging"}


def test_an_example_runs_on_the_runtime_alone(runtime_alone: BareEnvironment) -> None:
    recording = ROOT / "examples/recordings/tickets.jsonl"
    printed = runtime_alone.python(
        ROOT / "compiled_out/examples/tickets.py", environ={"NJC_RECORD": f"none:{recording}"}
    )
    assert printed.splitlines()[-1] == "technical  The app crashes when I open the settings page."


def test_a_wheel_of_natural_code_runs_on_the_runtime_alone(
    runtime_alone: BareEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "pyproject.toml").write_text(HATCH_PROJECT)
    (tmp_path / "shop/__init__.py").touch()
    (tmp_path / "shop/count.njpy").write_text(PROGRAM)
    runtime_alone.install(build_wheel(tmp_path, tmp_path))
    assert runtime_alone.python("-c", CALL) == "2\n"
