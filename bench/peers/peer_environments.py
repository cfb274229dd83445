"""Virtual environments with one library each, under build/peers, and what they take.

    LIBRARIES["nightjarpy"]  ──make_environment──>  Environment  ──measure_environment──>  {"megabytes": 224.1, ...}

Packages come from where pip is set up to take them. An environment is kept, and made again when its requirements or
the checkout have changed.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "peers"
SECONDS = 1800
REPEATS = 3

LIST_DISTRIBUTIONS = """
import importlib.metadata, json
found = {one.name: one.version for one in importlib.metadata.distributions()}
print(json.dumps({name: found[name] for name in sorted(found) if name not in ("pip", "setuptools")}))
"""


class NotInstalled(Exception):
    """An environment could not be made; the message says why."""


@dataclass(frozen=True)
class Library:
    """How one library is installed and used.

    `speaks` names its protocol in `peer_server`; `decorator` makes a function natural, after the lines `prelude`.
    """

    name: str
    pythons: tuple[str, ...]
    requirements: tuple[str, ...]
    speaks: str
    imported: str
    decorator: str = ""
    prelude: str = ""


LIBRARIES: Mapping[str, Library] = {
    library.name: library
    for library in (
        Library("njpy-runtime", ("3.13", "3.12"), ("./runtime[openai]",), "njpy", "njrt"),
        Library("njpy", ("3.13", "3.12"), ("./runtime[openai]", "."), "njpy", "njc"),
        Library(
            "nightjarpy",
            ("3.12",),
            # It imports typing_inspect, which none of its requirements brings any more.
            ("nightjarpy==0.1.0", "typing_inspect==0.9.0"),
            "nightjarpy",
            "nightjarpy",
            "@nj.fn(config=CONFIG)",
            "from peer_settings import CONFIG, nj\n",
        ),
        Library(
            "nighthawk",
            ("3.13",),
            ("nighthawk-python==0.17.0", "pydantic-ai-slim[openai]"),
            "nighthawk",
            "nighthawk",
            "@nh.natural_function",
            "import nighthawk as nh\n",
        ),
    )
}


@dataclass(frozen=True)
class Environment:
    """An environment that was made, and its interpreter."""

    library: Library
    folder: Path
    version: str

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        """The folder that packages are installed into."""
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found


def make_environment(library: Library) -> Environment:
    """Make the environment of a library, or take the one that is there."""
    version, python = next(find_pythons(library.pythons), ("", None))
    if python is None:
        raise NotInstalled(f"Python {' or '.join(library.pythons)} was not found")
    environment = Environment(library, FOLDER / library.name, version)
    stamp = environment.folder / "made-of"
    made_of = f"{python} {' '.join(library.requirements)} {hash_sources(library)}\n"
    if stamp.exists() and stamp.read_text() == made_of:
        return environment
    shutil.rmtree(environment.folder, ignore_errors=True)
    run(python, "-m", "venv", environment.folder)
    pip = (environment.python, "-m", "pip", "--disable-pip-version-check", "install", "-q")
    run(*pip, "--no-compile", *library.requirements)
    stamp.write_text(made_of)
    return environment


def find_pythons(versions: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """Yield the interpreters of these versions, on PATH or of pyenv."""
    pyenv = os.environ.get("PYENV_ROOT") or str(Path.home() / ".pyenv")
    for version in versions:
        on_path = shutil.which(f"python{version}")
        for name in (on_path, *glob.glob(f"{pyenv}/versions/{version}.*/bin/python")):
            if name and subprocess.run([name, "-c", ""], capture_output=True).returncode == 0:
                yield version, Path(name)


def hash_sources(library: Library) -> str:
    """A hash of what the requirements that are folders hold; the same for the same files."""
    folders = {"./runtime[openai]": ["runtime"], ".": ["njc", "spsbench"]}
    digest = hashlib.sha256()
    for folder in (name for text in library.requirements for name in folders.get(text, ())):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def run(*command: str | Path) -> str:
    """Run a command; raise NotInstalled with its last line where it fails."""
    try:
        done = subprocess.run(
            [*map(str, command)], cwd=ROOT, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"no end within {SECONDS} s: {command[-1]}") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "ERROR" in line or "rror:" in line]
        raise NotInstalled((lines or done.stderr.splitlines() or ["no reason given"])[-1][:300])
    return done.stdout


def measure_environment(environment: Environment) -> dict[str, Any]:
    """Size, distributions and import time of an environment. The size has no compiled files of Python."""
    versions = json.loads(run(environment.python, "-c", LIST_DISTRIBUTIONS))
    files = [
        path
        for path in environment.packages.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.relative_to(environment.packages).parts[0].split("-")[0]
        not in ("pip", "setuptools")
    ]
    imported = f"import {environment.library.imported}"
    return {
        "python": environment.version,
        "distributions": len(versions),
        "megabytes": round(sum(path.stat().st_size for path in files) / 1e6, 1),
        "import_ms": time_process(environment, imported),
        "bare_ms": time_process(environment, "pass"),
        "versions": {
            name: version
            for name, version in versions.items()
            if name in ("njpy", "njpy-runtime", "nightjarpy", "nighthawk-python")
        },
    }


def time_process(environment: Environment, code: str) -> float:
    """The least processor time of several processes that run this code, in milliseconds."""
    run(environment.python, "-c", code)  # compiles what is imported
    times = []
    for _ in range(REPEATS):
        before = read_processor_time()
        run(environment.python, "-c", code)
        times.append(read_processor_time() - before)
    return round(min(times) * 1000, 1)


def read_processor_time() -> float:
    """Seconds that ended child processes have used of the processor."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
