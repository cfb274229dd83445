"""The arrangement of the packages: who may import whom, and which modules may reach out of the process.

    compiled_out ──> njrt <── njc <── spsbench          tests ──> everything

A package is a list of layers, from the bottom up. A layer names the folders and the modules of the package that
stand on it; each imports only from the layers below its own. docs/architecture.md shows the same layers.
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

ROOT = Path(__file__).parents[1]

FOLDERS = {"njrt": "runtime/njrt", "njc": "njc", "spsbench": "spsbench"}
"""The packages, bottom up: each may import those before it."""

LAYERS: Mapping[str, str] = {
    "njrt": """
        production
        carried errors jumps media records
        messages outcome context timeouts private_names private_files stores version
        effects gates message_json options values
        decisions interface
        block events rendering dataclass_json
        effect_json models
        observability scope
        execution persistence
        agent approval budgets canary
        session
        durable mcp
        __init__ pytest_plugin
    """,
    "njc": """
        __init__ runs editors evaluation
        frontend sandbox trace_lines worker interrupts execution_trace
        analysis
        codegen
        compiler
        project migrate
        built_imports comparison static type_check doctor hook pygments_lexer
        repair hatch_plugin setuptools_plugin
        learning run target
        timeline
        trace_view authority batch mcp drift cases
        debug language_server notebook
        dap
        commands
        cli
        __main__
    """,
    "spsbench": """
        __init__ failures interfaces llm published script task
        methods results suite
        flags journal
        loc perfect replay sampling states tally
        trials
        studies
        report
        repair suites surprise
        crux export
        neural
        cli
        __main__
    """,
}

EDGE = """
    njrt                context media timeouts private_files pytest_plugin stores
    njrt.agent          object_references
    njrt.production.approval manifest terminal
    njrt.production.budgets        budgeted ledger period
    njrt.durable        approval effects workflows
    njrt.execution      contracts interruptions side_effects source_cache tracebacks
    njrt.execution.contained execute operations process seccomp server wire
    njrt.execution.guard effects
    njrt.mcp            server sessions
    njrt.models         anthropic breaker choose network openai pydantic_ai rate_limit remote retries retry_and_fallback scripted streaming wrapped
    njrt.observability  listeners trace
    njrt.persistence    cache memory_store open_store postgres_store recorder recording_place redis_store sqlite_store
    njrt.session        block_conversation canary gate interception layered_model prediction session settings static_attempt
    njc                 cli doctor hatch_plugin hook interrupts run setuptools_plugin target trace_lines worker
    njc.mcp             servers
    njc.project         build config outputs tuned units wheel
    njc.evaluation.cases           case_file imported_files runner tuner
    njc.evaluation.comparison      results
    njc.evaluation.repair          command testing time_limit
    njc.evaluation.built_imports   account block_recorder
    njc.evaluation.built_imports.child sitecustomize
    njc.sandbox         bubblewrap forwarder limits proxy
    njc.static          build lock write
    njc.evaluation.learning by_command study
    njc.editors.type_check      checker stubs
    njc.runs            authority
    njc.runs.timeline        agent breakpoints checkpoints debuggee happenings processes run_controller standard_streams
    njc.runs.trace_view      index page
    njc.batch           estimate executors journal local rows store vendor waves
    njc.commands.compiling build check clean show types where
    njc.commands.running compare debug eval run trace tune usage
    njc.commands.setup  cache doctor init mcp migrate skill
    njc.commands.static_code annotate lock static
    njc.commands.production batch canary migrate_model replay
    njc.commands.terminal console flags repeat status_line trace_status
    njc.runs.dap             adapter requests
    njc.runs.debug           commands predicted stop_report trace_walk
    njc.editors.language_server.serving recorded_run server workspace_files
    njc.notebook        extension
    spsbench            flags journal
    spsbench.trials     answering executing experiment interpreter machine playing workers
    spsbench.studies    command study
    spsbench.replay     command programs
    spsbench.states     actions command process programs values
    spsbench.export     command
    spsbench.repair     command mutants solving
    spsbench.suites     bfcl m3 mtp running
    spsbench.surprise   playing
    spsbench.report     command files results_report
    spsbench.neural     command curve dataset debugging evaluation library_programs network processes programs training witness
    spsbench.crux       asking judge problems
"""
"""The modules that may touch time, disk, network, environment or other processes; all others are handed what they need."""

MOST_MODULES = 25
"""In one folder, without those of its subfolders."""

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


def layers_of(package: str) -> list[list[str]]:
    return [line.split() for line in LAYERS[package].strip().splitlines()]


def edge_modules() -> frozenset[str]:
    lines = [line.split() for line in EDGE.strip().splitlines()]
    return frozenset(f"{folder}.{module}" for folder, *modules in lines for module in modules)


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


DISTRICTS = {"njc": ("runs", "editors", "evaluation"), "njrt": ("production",), "spsbench": ()}
"""Folders of guests whose parts are units of their own."""


def unit_of(package: str, module: str) -> str:
    """Return the part of a package that a layer names: a folder, or a module beside the folders."""
    unit, _, rest = module.removeprefix(package).lstrip(".").partition(".")
    return first_part(rest) if rest and unit in DISTRICTS[package] else unit or "__init__"


def is_inside(package: str, module: str) -> bool:
    return module == package or module.startswith(f"{package}.")


@pytest.mark.parametrize("package", LAYERS)
def test_layers_name_every_folder_and_module_once(package: str) -> None:
    named = sorted(unit for layer in layers_of(package) for unit in layer)
    assert named == sorted({unit_of(package, name) for name in MODULES if is_inside(package, name)})


@pytest.mark.parametrize("package", LAYERS)
def test_imports_go_downward(package: str) -> None:
    floor = {unit: number for number, layer in enumerate(layers_of(package)) for unit in layer}
    upward = [
        f"{name} imports {imported}"
        for name, path in MODULES.items()
        if is_inside(package, name)
        for imported in find_imports(path)
        if is_inside(package, imported)
        if unit_of(package, imported) != unit_of(package, name)
        if floor[unit_of(package, imported)] >= floor[unit_of(package, name)]
    ]
    assert upward == []


GUESTS: Mapping[str, str] = {
    "njc runs": "runs timeline debug dap trace_view authority",
    "njc editors": "editors language_server notebook type_check pygments_lexer",
    "njc evaluation": "evaluation cases repair learning comparison built_imports execution_trace drift",
    "njc batch": "batch",
    "njc mcp": "mcp",
    "njc migrate": "migrate",
    "njc sandbox": "sandbox",
    "njc doctor": "doctor",
    "njc wheels": "hatch_plugin setuptools_plugin",
    "njrt production": "production approval budgets canary durable mcp pytest_plugin",
}
"""The tools around the core, by package and group; docs/architecture.md opens with them. All else is core."""
COMMANDS = ("commands", "cli", "__main__")
FACES_FOR_GUESTS = {
    ("njc doctor", "njc.sandbox.bubblewrap"),
    ("njc editors", "njc.runs.timeline.effect_text"),
    ("njc editors", "njc.runs.trace_view.index"),
    ("njc editors", "njc.runs.trace_view.terminal"),
}
"""The modules of a guest that another one imports; add none."""
GUESTS_IN_THE_CORE = {
    "njrt": {"njrt.production.approval.terminal"},
    "njrt.session.canary": {
        "njrt.production.canary.block_state",
        "njrt.production.canary.comparison",
        "njrt.production.canary.confinement",
    },
    "njrt.session.layered_model": {
        "njrt.production.budgets.budgeted",
        "njrt.production.budgets.ledger",
    },
    "njrt.session.settings": {
        "njrt.production.approval.manifest",
        "njrt.production.budgets.budgeted",
        "njrt.production.canary.block_state",
    },
}
"""What the core of the runtime still imports of its guests; add none."""


def find_guest(module: str) -> str | None:
    """Return the group of a guest that a module belongs to; None for the core and the commands."""
    package = first_part(module)
    unit = unit_of(package, module)
    for group, units in GUESTS.items():
        if group.startswith(f"{package} ") and unit in units.split():
            return group
    return None


def test_the_core_never_imports_a_guest() -> None:
    found = {
        name: guests
        for name, path in MODULES.items()
        if first_part(name) in ("njc", "njrt")
        if find_guest(name) is None and unit_of(first_part(name), name) not in COMMANDS
        if (guests := {module for module in find_imports(path) if is_guest_of(name, module)})
    }
    assert found == GUESTS_IN_THE_CORE


def test_guests_never_import_each_other() -> None:
    found = {
        (group, module)
        for name, path in MODULES.items()
        if (group := find_guest(name))
        for module in find_imports(path)
        if is_guest_of(name, module) and find_guest(module) != group
    }
    assert found == FACES_FOR_GUESTS


def is_guest_of(name: str, module: str) -> bool:
    return first_part(module) == first_part(name) and find_guest(module) is not None


def test_guests_exist() -> None:
    units = {(group, unit) for group, named in GUESTS.items() for unit in named.split()}
    known = {(first_part(name), unit_of(first_part(name), name)) for name in MODULES}
    assert {(first_part(group.replace(" ", ".")), unit) for group, unit in units} <= known


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {name: find_imports(path) & MODULES.keys() - {name} for name, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"circle: {' <- '.join(error.args[1])}")


def test_no_folder_is_crowded() -> None:
    folders = [path.parent for path in MODULES.values()]
    crowded = {folder for folder in folders if folders.count(folder) > MOST_MODULES}
    assert crowded == set()


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
    core = {name: path for name, path in MODULES.items() if name not in edge_modules()}
    reaching = {
        name: used
        for name, path in core.items()
        if (used := {first_part(module) for module in find_imports(path)} & WORLD)
    }
    assert reaching == {}
    assert [name for name, path in core.items() if "open" in find_calls(path)] == []


def test_the_edge_names_only_modules_that_reach_out() -> None:
    reaching = {
        name
        for name, path in MODULES.items()
        if {first_part(module) for module in find_imports(path)} & WORLD
    }
    assert edge_modules() - reaching == set()


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


@pytest.mark.parametrize("package", LAYERS)
def test_the_document_shows_the_layers(package: str) -> None:
    """docs/architecture.md has a table a package whose first column names the units of the layers, bottom up."""
    document = (ROOT / "docs/architecture.md").read_text()
    section = document.partition(f"### `{package}`")[2].partition("\n##")[0]
    rows = re.findall(r"^\| ([^|]*`[^|]*)\|", section, re.MULTILINE)
    shown = [unit.rstrip("/") for row in rows for unit in re.findall(r"`(\w+/?)`", row)]
    assert shown == [unit for layer in layers_of(package) for unit in layer]


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
