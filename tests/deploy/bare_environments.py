"""Bare virtual environments for tests, filled by pip from a folder of wheels: no index, no network.

wheels = Wheelhouse(tmp_path / "wheels")
wheels.build(ROOT / "runtime")                     the wheel of a project
wheels.pack("pydantic")                            the wheels of an installed distribution and what it requires
place = BareEnvironment(tmp_path / "env", wheels)
place.install("njpy-runtime")
place.python("-c", "import njrt")
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SECONDS = 100


def run_command(*command: str | Path, **settings: object) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; it must succeed."""
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        **settings,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


class Wheelhouse:
    """A folder of wheels."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._packed: set[str] = set()

    def build(self, project: Path) -> Path:
        """Build the wheel of a project as its build backend does."""
        flags = ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"]
        old = set(self.folder.iterdir())
        run_command(
            sys.executable, "-m", "pip", "wheel", *flags, "-w", self.folder, project, cwd=project
        )
        (wheel,) = set(self.folder.iterdir()) - old
        return wheel

    def pack(self, *requirements: str) -> None:
        """Make wheels of distributions that are installed here, and of all that they require."""
        for text in requirements:
            requirement = Requirement(text)
            for name in find_required(requirement):
                if name not in self._packed:
                    self._packed.add(name)
                    pack_distribution(metadata.distribution(name), self.folder)


def find_required(
    requirement: Requirement, found: set[tuple[str, str]] | None = None
) -> Iterator[str]:
    """Yield the names of a distribution and of those that it requires, each with its extras."""
    found = set() if found is None else found
    for extra in ["", *requirement.extras]:
        key = (canonicalize_name(requirement.name), extra)
        if key in found:
            continue
        found.add(key)
        yield key[0]
        for text in metadata.requires(requirement.name) or ():
            required = Requirement(text)
            if required.marker is None or required.marker.evaluate({"extra": extra}):
                yield from find_required(required, found)


def pack_distribution(installed: metadata.Distribution, folder: Path) -> None:
    """Write the wheel that an installed distribution came from, without its scripts and compiled bytecode."""
    version = installed.metadata["Version"].replace("-", "_")
    name = installed.metadata["Name"].replace("-", "_")
    tags = [
        line.removeprefix("Tag: ")
        for line in (installed.read_text("WHEEL") or "").splitlines()
        if line.startswith("Tag: ")
    ]
    path = folder / f"{name}-{version}-{tags[0]}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file in installed.files or ():
            if ".." not in file.parts and file.suffix != ".pyc" and file.name != "direct_url.json":
                wheel.write(file.locate(), str(file))


class BareEnvironment:
    """A virtual environment with nothing in it but what is installed by this class."""

    def __init__(self, folder: Path, wheels: Wheelhouse) -> None:
        venv.create(folder, symlinks=True)
        self.folder = folder
        self._wheels = wheels

    @property
    def interpreter(self) -> Path:
        """Its python."""
        return self.folder / "bin" / "python"

    @property
    def environ(self) -> dict[str, str]:
        """The variables under which its commands run: no key, no setting of njc, its own commands first."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("NJC_", "OPENAI_", "ANTHROPIC_", "PYTHON", "VIRTUAL_ENV"))
        }
        return {**kept, "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def install(self, *requirements: str | Path) -> None:
        """Install by pip from the wheels alone."""
        flags = ["--no-index", "--no-compile", "--disable-pip-version-check", "--find-links"]
        run_command(
            *(sys.executable, "-m", "pip", "--python", self.interpreter, "install", "-q"),
            *(*flags, self._wheels.folder, *requirements),
        )

    def python(
        self,
        *arguments: str | Path,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> str:
        """Run its interpreter to the end and return what it prints."""
        settings = {"env": {**self.environ, **(environ or {})}, "cwd": cwd or self.folder}
        return run_command(self.interpreter, *arguments, **settings).stdout
