"""The arrangement of the packages: who may import whom, and which modules may reach out of the process.

    compiled_out ──> njrt <── njc <── spsbench          tests ──> everything

Imports go downward between packages, and between the folders of a package; no modules import each other in a
circle; the compiler and the conversation with a model do no I/O.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FOLDERS = {"njrt": "runtime/njrt", "njc": "njc", "spsbench": "spsbench"}
"""The packages, bottom up: each may import those before it."""

LEVELS = {
    "njrt": "data values execution models log block guests mcp",
    "njc": "compiler findings project static debug measure editors batch mcp commands",
    "spsbench": "programs trials states report repair neural export",
}
"""The folders of a package, bottom up: each may import those before it."""

VOCABULARY = {
    f"njrt.{name}" for name in ("effects", "errors", "events", "messages", "stores", "version")
}
"""Modules beside the folders that users import, and all folders: as low as `njrt.data`."""

CORE = ("njc.compiler", "njrt.block.agent.conversation")
"""What is handed everything that it needs, and neither reads files nor knows the time."""

WORLD = (
    {"datetime", "time"}
    | {"random", "secrets", "uuid"}
    | {"fcntl", "linecache", "os", "pathlib", "shutil", "sqlite3", "tempfile"}
    | {"anthropic", "ftplib", "http", "httpx", "openai", "socket", "ssl", "urllib"}
    | {"ctypes", "signal", "subprocess"}
)
"""What reaches out of the process, or is not the same twice."""

EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc", "shared"}
"""Names of modules that do not say what is in them."""

PRIVATE = re.compile(
    r"/home/(?!anna\b)\w+|/Users/\w+|(?<![\w.])/(?:root|work|mnt)/\w+"
    r"|\b(?:extra-)?index-url\b|\btrusted-host\b|\b(?:10\.\d+|192\.168)\.\d+\.\d+\b"
    r"|\w\.(?:internal|corp|lan)\b"
)
"""Places on one person's machine, and package registries other than the public one."""


def find_modules() -> Iterator[tuple[str, Path]]:
    """Yield the dotted name and the file of every module of ours; a package is named by its folder."""
    for package, folder in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            if parts[0] != "programs":
                yield ".".join([package, *(part for part in parts if part != "__init__")]), path


MODULES: Mapping[str, Path] = dict(find_modules())


@functools.cache
def read_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


@functools.cache
def find_imports(path: Path) -> frozenset[str]:
    """Return the names of all modules that a file imports anywhere: inside functions and for type checkers, too."""
    found: set[str] = set()
    for node in ast.walk(read_tree(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import; write the full name"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & MODULES.keys()) or {node.module or ""}
    return frozenset(found)


def find_calls(path: Path) -> set[str]:
    """Return the functions that a file calls by a name alone."""
    calls = (node for node in ast.walk(read_tree(path)) if isinstance(node, ast.Call))
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


def first_part(name: str) -> str:
    return name.partition(".")[0]


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {name: find_imports(path) & MODULES.keys() - {name} for name, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"circle: {' <- '.join(error.args[1])}")


def find_level(module: str) -> str:
    """Return the folder of a package that a module is in; a module beside the folders is a level of its own."""
    level = ".".join(module.split(".")[:2])
    return "njrt.data" if level in VOCABULARY else level


@pytest.mark.parametrize("package", LEVELS)
def test_the_folders_of_a_package_import_downward(package: str) -> None:
    levels = [f"{package}.{name}" for name in LEVELS[package].split()]
    upward = [
        f"{name} imports {imported}"
        for name, path in MODULES.items()
        if find_level(name) in levels
        for imported in find_imports(path) & MODULES.keys()
        if find_level(imported) in levels[levels.index(find_level(name)) + 1 :]
    ]
    assert upward == []
    folders = {
        it.name for it in (ROOT / FOLDERS[package]).iterdir() if (it / "__init__.py").exists()
    }
    assert folders <= {level.rpartition(".")[2] for level in levels}


def test_packages_import_only_those_below_them() -> None:
    packages = list(FOLDERS)
    upward = [
        f"{name} imports {imported}"
        for name, path in MODULES.items()
        for imported in find_imports(path)
        if first_part(imported) in packages[packages.index(first_part(name)) + 1 :]
    ]
    assert upward == []


def test_the_core_does_not_reach_out() -> None:
    core = {name: path for name, path in MODULES.items() if name.startswith(CORE)}
    reaching = {
        name: used
        for name, path in core.items()
        if (used := {first_part(module) for module in find_imports(path)} & WORLD)
    }
    assert len(core) > len(CORE)
    assert reaching == {}
    assert [name for name, path in core.items() if "open" in find_calls(path)] == []


def test_modules_say_what_they_are() -> None:
    assert [name for name in MODULES if name.rpartition(".")[2] in EMPTY_NAMES] == []
    trees = {name: read_tree(path) for name, path in MODULES.items()}
    assert [name for name, tree in trees.items() if tree.body and not ast.get_docstring(tree)] == []


def test_public_functions_and_classes_have_docstrings() -> None:
    silent = [
        f"{name}.{node.name}"
        for name, path in MODULES.items()
        for node in read_tree(path).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and "overload" not in map(ast.unparse, node.decorator_list)
        and not ast.get_docstring(node)
    ]
    assert silent == []


def test_the_runtime_prints_nothing() -> None:
    runtime = {name: path for name, path in MODULES.items() if first_part(name) == "njrt"}
    assert [name for name, path in runtime.items() if "print" in find_calls(path)] == []


def test_tests_of_several_folders_run_together() -> None:
    """Modules of tests are imported by their last name; `conftest` is that of whichever folder came last."""
    files = [
        path
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if not {"cases", "data"} & set(path.relative_to(ROOT / "tests").parts)
    ]
    names = Counter(path.stem for path in files if path.stem != "conftest")
    assert [name for name, count in names.items() if count > 1] == []
    naming = [path for path in files if b"conftest" in path.read_bytes()]
    assert [path.name for path in naming if "conftest" in find_imports(path)] == []


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    found = []
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = ROOT / name
        found += [name for part in Path(name).parts if not re.fullmatch(r"[\w.+-]+", part)]
        if path == Path(__file__) or not path.is_file():
            continue
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").split("\n"), 1):
            found += [f"{name}:{number}: {match[0]}" for match in PRIVATE.finditer(line)]
    assert found == []


def test_every_type_that_the_document_names_is_ours() -> None:
    document = (ROOT / "docs/architecture.md").read_text()
    named = set(re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)*)`", document))
    ours = {name for path in MODULES.values() for name in find_types(read_tree(path))}
    assert named
    assert named <= ours


def find_types(tree: ast.Module) -> Iterator[str]:
    """Yield the classes of a module, and the unions and aliases beside them."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def test_every_file_that_the_document_names_is_there() -> None:
    document = (ROOT / "docs/architecture.md").read_text()
    named = re.findall(r"`((?:njc|runtime|spsbench|tests|docs|compiled_out)/[\w/.-]+)`", document)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
