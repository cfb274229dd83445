"""The arrangement of the packages: who may import whom, and what only the modules at the edge may do.

    compiled_out ──> njrt <── njc <── spsbench          tests ──> everything

Inside a package the modules stand in one total order, a line for each stage of the work, and each imports
only from the modules before it. A star marks the edge: the modules that may touch time, disk, network,
environment or other processes. docs/architecture.md shows the same lines.
"""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ORDER: Mapping[str, str] = {
    "njrt": """
        what all speak of        errors messages jumps outcome effects events options block
        values, looked at        interrupt* anatomy pen scalars foreign signatures brief members values shapes
        values, written down     spelling rebuilding
        the program's variables  transcript typecheck scope
        the model's code         sources* failure* syntax bindings lowering checks permitted reflection guard restated snippet code
        models                   models
        what is counted          around limits* account
        what is told             logs written trace* telemetry listeners
        what is kept             folders* store* cache recording* record*
        one conversation         tools fenced prompt heap jumping handlers agent
        one run                  session* settings* examples running* schema question*
        code tried first         undo trying*
        the door                 __init__ pytest_plugin*
    """,
    "njrt.models": """
        the protocol             __init__ model
        without a network        scripted* prices
        over a network           conversation network* remote openai* anthropic*
        which                    fallback choose
    """,
    "njc": """
        words                    __init__ versions source diagnostics
        read                     parse references names frames markers placement blocks
        judge                    check flow directives
        lower                    indent header linemap lower emit compiler
        many files               config* plan* outputs* build* renderings report load* where*
        static mode              lock* static comparison comparison_text comparison_page
        from nightjarpy          migrate
        run and import           hook* run* forwarder* proxy* sandbox* doctor*
        wheels                   wheel* hatch_plugin* setuptools_plugin*
        the command              console* commands cli __main__
    """,
    "njc.migrate": """
        words                    __init__ remarks
        what stands there        configuration prompts gathering
        what becomes of it       clearing codemod program
    """,
    "njc.static": """
        words                    __init__ fresh showing binding gaps attributes choices expect
        ask                      unwrap complete prompt generate
        accept                   asking validate settle place target
        keep                     author* plan build files*
        learn by example         annotate lessons learn performing* judging rehearse* stage* study*
    """,
    "njc.commands": """
        shared                   flags* repeat* fill boundary*
        each by its name         build* check* run* show* where* clean* explain cache* lock* static* compare* doctor* migrate*
        the group                __init__
    """,
    "spsbench": """
        what is asked            __init__ task script suite
        who answers              llm expressions mirror perfect
        what comes out           checks loc failures methods results tally published
        on the command line      flags
        what is run              trials studies replay
        what is said of it       report
        the command              cli __main__
    """,
    "spsbench.trials": """
        words                    __init__
        one trial                interpreter* answering* building* job playing* trial* verdict executing*
        many trials              schedule journal* progress machine* workers* running*
        the command              command*
    """,
    "spsbench.studies": """
        both                     __init__ study* study_file*
        a large object           graph_questions graph_results graph_asking* graph_command*
        school problems          gsm8k_problems gsm8k_results gsm8k_solving* gsm8k_command*
    """,
    "spsbench.replay": """
        one trace                __init__ traces agreement player export
        all of them              programs* replaying
        the command              command*
    """,
    "spsbench.report": """
        what it says             __init__ measures data tables answer forms
        its page                 page_drawing page_style page_plots page_graph page
        its files                writing files*
        the command              command*
    """,
}

FOLDERS = {
    "njrt": "runtime/njrt",
    "njrt.models": "runtime/njrt/models",
    "njc": "njc",
    "njc.migrate": "njc/migrate",
    "njc.static": "njc/static",
    "njc.commands": "njc/commands",
    "spsbench": "spsbench",
    "spsbench.trials": "spsbench/trials",
    "spsbench.studies": "spsbench/studies",
    "spsbench.replay": "spsbench/replay",
    "spsbench.report": "spsbench/report",
}
BELOW = {"njrt": (), "njc": ("njrt",), "spsbench": ("njrt", "njc")}
"""The packages that each of ours may import."""

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


def lines_of(package: str) -> list[str]:
    return [line.strip() for line in ORDER[package].strip().splitlines()]


def names_in(package: str) -> list[str]:
    """The modules of a package in their order, with the stars of those at the edge."""
    return [name for line in lines_of(package) for name in re.split(r"\s{2,}", line)[1].split()]


@functools.cache
def positions(package: str) -> Mapping[str, int]:
    return {name.rstrip("*"): position for position, name in enumerate(names_in(package))}


def modules_in(package: str) -> list[str]:
    """The modules and packages that lie in the folder of a package."""
    folder = ROOT / FOLDERS[package]
    inside = [path.parent.name for path in folder.glob("*/__init__.py")]
    inside = [name for name in inside if f"{package}.{name}" in FOLDERS]
    return sorted([path.stem for path in folder.glob("*.py")] + inside)


def files() -> Iterator[tuple[str, str, Path]]:
    """Each of our modules: its package, its name in there, its file."""
    for package, folder in FOLDERS.items():
        for path in sorted((ROOT / folder).glob("*.py")):
            yield package, path.stem, path


MODULES = tuple(files())
NAMES = [f"{package}.{module}" for package, module, _ in MODULES]
each_module = pytest.mark.parametrize(("package", "module", "path"), MODULES, ids=NAMES)


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


@functools.cache
def imported_by(path: Path) -> frozenset[str]:
    """All that a file imports anywhere in it: inside functions and for type checkers, too."""
    found: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write out what is imported"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            known = {name for name in inner if name in NAMES or name in FOLDERS}
            found |= known or {node.module or ""}
    return frozenset(found)


def called_by(path: Path) -> set[str]:
    """The functions that a file calls, as they are written there."""
    return {
        ast.unparse(node.func) for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)
    }


def root_of(name: str) -> str:
    return name.partition(".")[0]


def place_in(package: str, imported: str) -> str:
    """The module of `package` that an import of `imported` goes to, or an empty string."""
    if imported == package:
        return "__init__"
    inside = imported.removeprefix(package + ".")
    return "" if inside == imported else root_of(inside)


@pytest.mark.parametrize("package", ORDER)
def test_the_order_names_every_module_and_no_other(package: str) -> None:
    assert sorted(name.rstrip("*") for name in names_in(package)) == modules_in(package)


@pytest.mark.parametrize("package", ORDER)
def test_modules_import_only_what_stands_before_them(package: str) -> None:
    order = positions(package)
    wrong = []
    for owner, module, path in MODULES:
        own = module if owner == package else place_in(package, owner)
        for imported in imported_by(path):
            other = place_in(package, imported)
            if other in order and own in order and order[other] > order[own]:
                wrong.append(f"{owner}.{module} imports {imported}")
    assert wrong == []


@each_module
def test_packages_import_only_those_below_them(package: str, module: str, path: Path) -> None:
    root = root_of(package)
    ours = {root_of(name) for name in imported_by(path)} & BELOW.keys()
    assert ours <= {root, *BELOW[root]}


@each_module
def test_the_core_does_not_reach_out(package: str, module: str, path: Path) -> None:
    if f"{module}*" not in names_in(package):
        assert {root_of(name) for name in imported_by(path)} & WORLD == set()
        assert "open" not in called_by(path)


def test_a_star_stands_only_where_it_is_needed() -> None:
    needless = {
        f"{package}.{module}"
        for package, module, path in MODULES
        if f"{module}*" in names_in(package)
        and not {root_of(name) for name in imported_by(path)} & WORLD
    }
    assert needless == set()


@each_module
def test_modules_say_what_they_are(package: str, module: str, path: Path) -> None:
    assert module not in EMPTY_NAMES
    if path.read_text().strip():
        assert ast.get_docstring(tree_of(path)), "begins without a docstring"


@each_module
def test_public_functions_and_classes_have_docstrings(
    package: str, module: str, path: Path
) -> None:
    silent = [
        node.name
        for node in tree_of(path).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and "overload" not in map(ast.unparse, node.decorator_list)
        and not ast.get_docstring(node)
    ]
    assert silent == []


@each_module
def test_the_runtime_prints_nothing(package: str, module: str, path: Path) -> None:
    if root_of(package) == "njrt":
        assert "print" not in called_by(path)


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
        if path == Path(__file__) or not path.is_file():
            continue
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").split("\n"), 1):
            found += [f"{name}:{number}: {match[0]}" for match in PRIVATE.finditer(line)]
    assert found == []


@pytest.mark.parametrize("package", ORDER)
def test_the_document_shows_the_order(package: str) -> None:
    document = (ROOT / "docs/architecture.md").read_text()
    shown = [line.strip() for line in document.split("\n")]
    first, *_ = lines = lines_of(package)
    assert first in shown
    at = shown.index(first)
    assert shown[at : at + len(lines)] == lines


def test_every_type_that_the_document_names_is_ours() -> None:
    document = (ROOT / "docs/architecture.md").read_text()
    named = set(re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)*)`", document))
    ours = {name for _, _, path in MODULES for name in types_in(tree_of(path))}
    assert named
    assert named <= ours


def types_in(tree: ast.Module) -> Iterator[str]:
    """The classes of a module, and the unions and aliases beside them."""
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
