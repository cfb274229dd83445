"""Bare virtual environments for tests, without an index and without a network.

wheel = build_wheel(ROOT / "runtime", folder)
place = BareEnvironment(tmp_path / "env")
place.link("pydantic>=2")                  as installed here, with all that it requires
place.install(wheel)                       by pip, which finds only what is linked or given
place.python("-c", "import njrt")
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from workplace import clean_environment

SECONDS = 280


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


def build_wheel(project: Path, folder: Path) -> Path:
    """Build the wheel of a project as its build backend does."""
    flags = ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"]
    old = set(folder.iterdir())
    run_command(sys.executable, "-m", "pip", "wheel", *flags, "-w", folder, project, cwd=project)
    (wheel,) = set(folder.iterdir()) - old
    return wheel


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


class BareEnvironment:
    """A virtual environment with nothing in it but what is installed by this class."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, symlinks=True)
        self.folder = folder

    @property
    def interpreter(self) -> Path:
        """Its python."""
        return self.folder / "bin" / "python"

    @property
    def environ(self) -> dict[str, str]:
        """The variables under which its commands run: no key, no setting of njc, its own commands first."""
        kept = clean_environment()
        kept.pop("VIRTUAL_ENV", None)
        return {**kept, "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def link(self, *requirements: str) -> None:
        """Make distributions that are installed here available there, with all that they require."""
        (site_packages,) = self.folder.glob("lib/python*/site-packages")
        for text in requirements:
            for name in find_required(Requirement(text)):
                for file in metadata.files(name) or ():
                    link = site_packages / file.parts[0]
                    if file.parts[0] != ".." and not link.exists():
                        above = [file.locate(), *file.locate().parents]
                        link.symlink_to(above[len(file.parts) - 1])

    def install(self, *wheels: Path) -> None:
        """Install wheels by pip; what they require must be linked, or among them."""
        flags = ["--no-index", "--no-compile", "--disable-pip-version-check"]
        pip = [sys.executable, "-m", "pip", "--python", self.interpreter]
        run_command(*pip, "install", "-q", *flags, *wheels)

    def python(
        self,
        *arguments: str | Path,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> str:
        """Run its interpreter to the end and return what it prints."""
        settings = {"env": {**self.environ, **(environ or {})}, "cwd": cwd or self.folder}
        return run_command(self.interpreter, *arguments, **settings).stdout
