"""The Containerfile of the example, carried out without containers: a bare environment and a folder for each image.

FROM, WORKDIR, COPY and RUN are done as written, with the paths of the image moved into the folder. Nothing but Python
is as in the image: neither the system nor its user.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bare_environments import BareEnvironment, run_command
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
CONTAINERFILE = ROOT / "examples/service/Containerfile"
IMAGE_PATH = re.compile(r"(?<![\w.:/])/(?=clone|wheels|app\b)")
"""The start of an absolute path of the image, in a command or a setting."""


PIP = """#!/bin/sh
command=$1; shift
[ "$command" != install ] || set -- --no-compile "$@"
exec {pip} "$command" --no-build-isolation "$@"
"""
"""The command `pip` of an image: that of the tests, which builds with what is available."""


@dataclass
class Image:
    """An image as far as it is built (state: the folder its steps work in, its variables, its command)."""

    root: Path
    environment: BareEnvironment
    workdir: str = "/"
    variables: dict[str, str] = field(default_factory=dict)
    command: list[str] = field(default_factory=list)

    def locate(self, path: str) -> Path:
        """Return the place of a path of the image; relative ones start at its WORKDIR."""
        return self.root / os.path.join(self.workdir, path).lstrip("/")

    def translate(self, text: str) -> str:
        """Return a text in which the paths of the image lead into its folder."""
        return IMAGE_PATH.sub(f"{self.root}/", text).replace(
            "sqlite:////", f"sqlite:///{self.root}/"
        )


def read_steps(text: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Containerfile and their arguments."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            instruction, _, argument = line.partition(" ")
            yield instruction, argument.strip()


def copy_into(source: Path, target: Path) -> None:
    """Copy a file or what is in a folder, as COPY does."""
    if source.is_dir():
        ignored = shutil.ignore_patterns("__pycache__", "results")
        shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
    else:
        shutil.copy(source, target / source.name if target.is_dir() else target)


class ContainerBuild:
    """Carries out the steps of a Containerfile.

    `available` has the requirements that pip finds for each image, besides the wheels that the steps build.
    """

    def __init__(self, folder: Path, available: Mapping[str, Sequence[str]]) -> None:
        self._folder = folder
        self._available = available
        self.images: dict[str, Image] = {}
        self.carried_out: list[str] = []

    def build(self, text: str) -> Image:
        """Carry out all steps; return the last image."""
        image: Image | None = None
        for instruction, argument in read_steps(text):
            if instruction == "FROM":
                image = self._start_image(argument)
                continue
            assert image is not None
            match instruction:
                case "WORKDIR":
                    image.workdir = argument
                    image.locate(".").mkdir(parents=True, exist_ok=True)
                case "COPY":
                    self._copy(image, argument)
                case "RUN":
                    self._run(image, argument)
                case "ENV":
                    image.variables |= dict(pair.split("=", 1) for pair in shlex.split(argument))
                case "CMD":
                    image.command = json.loads(argument)
                case "USER" | "EXPOSE" | "VOLUME" | "STOPSIGNAL" | "HEALTHCHECK":
                    pass
                case _:
                    pytest.fail(f"unknown instruction {instruction}")
        assert image is not None
        return image

    def _start_image(self, argument: str) -> Image:
        name = argument.partition(" AS ")[2] or "last"
        environment = BareEnvironment(self._folder / name / "python")
        environment.link(*self._available[name])
        pip = environment.folder / "bin" / "pip"
        pip.write_text(
            PIP.format(pip=f"{sys.executable} -m pip --python {environment.interpreter}")
        )
        pip.chmod(0o755)
        image = self.images[name] = Image(self._folder / name / "root", environment)
        image.root.mkdir()
        return image

    def _copy(self, image: Image, argument: str) -> None:
        words = shlex.split(argument)
        origin = None
        if words[0].startswith("--from="):
            origin = self.images[words.pop(0).removeprefix("--from=")]
        *sources, target = words
        place = image.locate(target)
        if target.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        for source in sources:
            copy_into(origin.locate(source) if origin else ROOT / source, place)

    def _run(self, image: Image, argument: str) -> None:
        self.carried_out.append(argument)
        environ = {**image.environment.environ, **image.variables, "PIP_NO_INDEX": "1"}
        run_command("sh", "-ec", image.translate(argument), cwd=image.locate("."), env=environ)


def read_requirements(file: Path) -> list[str]:
    """Return the requirements in a file, with those of njpy-runtime in place of njpy-runtime itself."""
    runtime = tomllib.loads((ROOT / "runtime/pyproject.toml").read_text())["project"]
    found = list(runtime["dependencies"])
    for line in file.read_text().splitlines():
        if line.startswith("-r "):
            found += read_requirements(file.with_name(line.removeprefix("-r ")))
            continue
        requirement = Requirement(line)
        if requirement.name != runtime["name"]:
            found.append(line)
        for extra in requirement.extras & runtime["optional-dependencies"].keys():
            found += runtime["optional-dependencies"][extra]
    return found


@pytest.mark.timeout(300)
def test_the_images_are_built_and_the_service_runs_without_the_compiler(tmp_path: Path) -> None:
    available = {
        "build": ["hatchling", "click", "packaging", "pydantic"],
        "last": read_requirements(ROOT / "examples/service/requirements.txt"),
    }
    build = ContainerBuild(tmp_path, available)
    image = build.build(CONTAINERFILE.read_text())
    assert len(build.carried_out) == 5

    files = sorted(path.name for path in image.locate("/app").rglob("*") if path.is_file())
    assert [name for name in files if name.endswith(".njpy")] == []
    assert "classify.py" in files
    installed = image.environment.python(
        "-c", "from importlib import metadata as m; print(*(d.name for d in m.distributions()))"
    ).split()
    assert "njpy-runtime" in installed
    assert "njpy" not in installed

    variables = {name: image.translate(value) for name, value in image.variables.items()}
    environ = {
        **image.environment.environ,
        **variables,
        "TRIAGE_PORT": "0",
        "NJC_BASE_URL": "http://127.0.0.1:9/v1",
    }
    log = build.images["last"].root / "log"
    with log.open("wb") as opened:
        process = subprocess.Popen(
            [*image.command], cwd=image.locate("."), env=environ, stdout=opened, stderr=opened
        )
    try:
        url = wait_until_ready(log, process)
        assert "# TYPE" in fetch(f"{url}/metrics")
        (health_check,) = re.findall(r"^HEALTHCHECK CMD (.*)$", CONTAINERFILE.read_text(), re.M)
        check = [word.replace("http://127.0.0.1:8000", url) for word in json.loads(health_check)]
        run_command(*check, env=environ)
        process.terminate()
        assert process.wait(30) in (0, -signal.SIGTERM)  # uvicorn raises the signal again
        assert "Application shutdown complete" in log.read_text()
    finally:
        process.kill()
        process.wait(30)


def fetch(url: str) -> str:
    """Return the text that a URL of the service answers with."""
    with urllib.request.urlopen(url, timeout=10) as response:
        text: str = response.read().decode()
        return text


def wait_until_ready(log: Path, process: subprocess.Popen[bytes]) -> str:
    """Find the port of the service in its log, and ask until it is ready; return its URL."""
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        found = re.search(r"running on http://0\.0\.0\.0:(\d+)", log.read_text())
        if found:
            with suppress(OSError):
                url = f"http://127.0.0.1:{found[1]}"
                if json.loads(fetch(f"{url}/health/ready")) == {"status": "ready"}:
                    return url
        time.sleep(0.05)
    pytest.fail(log.read_text())
