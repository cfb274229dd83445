"""Check what would be released: build the distributions, install them into bare environments, use them.

    make release-check             on each Python from 3.11 on that is found (PATH and pyenv)
    make release-check TEST=1      also `make test` in a clean copy of the last commit, on each of them

The wheels are built from the unpacked source distributions, as installers do. One environment has nothing but the
runtime and what it requires; compiled files run there. Another has both distributions: in it the examples are compiled
and run on their recordings, a new project is created, and its test passes. In a copy of the last commit `make demo` is
run. Packages come from where pip is set up to take them; no model is asked.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUT = ROOT / "build" / "release"
PROJECTS = (ROOT / "runtime", ROOT, ROOT / "spsbench")
"""What each distribution is built from, in the order of their requirements."""
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
SECONDS = 600
LOAD_COMMANDS = """
from njc.commands import COMMANDS, njc
for name in COMMANDS:
    njc.main([name, "--help"], standalone_mode=False)
"""


def main() -> None:
    """Build, then check on each Python; exit with 1 and the output of the command that fails."""
    shutil.rmtree(OUT, ignore_errors=True)
    wheels = [build_distribution(project) for project in PROJECTS]
    copy_last_commit(OUT / "clone")
    found = list(find_pythons())
    for version, python in found:
        print(f"== Python {version}: {python}", flush=True)
        check_runtime(python, wheels[0], OUT / f"runtime-env-{version}")
        check_wheels(python, wheels, OUT / f"env-{version}")
        check_clone(python, OUT / "clone", OUT / f"clone-env-{version}")
    missing = [version for version in VERSIONS if version not in dict(found)]
    print(f"== checked on {', '.join(dict(found))}; not found: {', '.join(missing) or 'none'}")
    sys.exit(not found)


def build_distribution(project: Path) -> Path:
    """Build the source distribution of a project, and its wheel from that; return the wheel."""
    name = tomllib.loads((project / "pyproject.toml").read_text())["project"]["name"]
    folder = OUT / name
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=project)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=source)
    (wheel,) = folder.glob("*.whl")
    print(f"== {name}: {_measure(archive)}, {_measure(wheel)}")
    return wheel


def copy_last_commit(folder: Path) -> None:
    """Write the files of the last commit, without those that git ignores or does not know."""
    folder.mkdir(parents=True)
    archive = folder.with_suffix(".tar")
    run("git", "archive", "--output", archive, "HEAD", cwd=ROOT)
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")


def find_pythons() -> Iterator[tuple[str, Path]]:
    """Yield the first interpreter of each version, on PATH or of pyenv."""
    pyenv = os.environ.get("PYENV_ROOT") or str(Path.home() / ".pyenv")
    for version in VERSIONS:
        for name in (
            shutil.which(f"python{version}"),
            *glob.glob(f"{pyenv}/versions/{version}.*/bin/python"),
        ):
            if name and subprocess.run([name, "-c", ""], capture_output=True).returncode == 0:
                yield version, Path(name)
                break


def check_runtime(python: Path, wheel: Path, environment: Path) -> None:
    """Install the runtime alone into a new environment and run compiled files there."""
    run(python, "-m", "venv", environment)
    binary = environment / "bin"
    run(binary / "pip", "install", "-q", "--no-compile", "--disable-pip-version-check", wheel)
    print(f"== the runtime installed: {_measure_installed(environment)}")
    for program in sorted((ROOT / "examples").glob("*.njpy")):
        compiled = ROOT / "compiled_out/examples" / f"{program.stem}.py"
        replay = {"NJC_RECORD": f"none:{ROOT}/examples/recordings/{program.stem}.jsonl"}
        assert run(binary / "python", compiled, **replay)
    run(binary / "python", "-c", "import njc", allowed=(1,))


def check_wheels(python: Path, wheels: list[Path], environment: Path) -> None:
    """Install the wheels into a new environment and use what they bring."""
    run(python, "-m", "venv", environment)
    binary, work = environment / "bin", environment / "work"
    install = [binary / "pip", "install", "-q", "--no-compile", "--disable-pip-version-check"]
    run(*install, *wheels)
    print(f"== all installed: {_measure_installed(environment)}")
    run(*install, "pytest")
    shutil.copytree(ROOT / "examples", work / "examples")
    run(binary / "njc", "check", "examples", cwd=work)
    run(binary / "njc", "build", "examples", "-o", "out", cwd=work)
    for program in sorted((ROOT / "examples").glob("*.njpy")):
        compiled = work / "out" / f"{program.stem}.py"
        assert (
            compiled.read_bytes() == (ROOT / "compiled_out/examples" / compiled.name).read_bytes()
        )
        # Python shows the line of a warning only from where it finds the source.
        replay = {"NJC_RECORD": f"none:{work}/examples/recordings/{program.stem}.jsonl"}
        replay["PYTHONWARNINGS"] = "ignore"
        printed = run(binary / "python", compiled, cwd=work, **replay)
        assert printed == run(binary / "njc", "run", work / "examples" / program.name, **replay)
        assert printed
    run(binary / "njc", "init", "shop", cwd=work)
    run(binary / "njc", "check", cwd=work / "shop")
    run(binary / "python", "-m", "pytest", cwd=work / "shop")
    run(
        binary / "njc",
        "doctor",
        "--offline",
        NJC_MODEL="openai/local",
        NJC_BASE_URL="http://127.0.0.1:1/v1",
        allowed=(0, 2),
    )
    run(binary / "spsbench", "--help")
    assert "natural" in run(binary / "njc", "skill")
    run(binary / "python", "-c", LOAD_COMMANDS)


def check_clone(python: Path, clone: Path, environment: Path) -> None:
    """Run the commands at the head of README in a clone."""
    settings = [f"PYTHON={python}", f"VENV={environment}"]
    assert "used" in run("make", "demo", *settings, cwd=clone)
    if os.environ.get("TEST"):
        run("make", "test", *settings, cwd=clone, seconds=3600)


def run(
    *command: str | Path,
    cwd: Path = OUT,
    seconds: float = SECONDS,
    allowed: tuple[int, ...] = (0,),
    **variables: str,
) -> str:
    """Run a command without the keys and settings of this process; return what it prints."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(
            ("NJC_", "OPENAI_", "ANTHROPIC_", "PYTHON", "VIRTUAL_ENV", "MAKE", "MFLAGS")
        )
    }
    cwd.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**kept, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )
    if done.returncode not in allowed:
        sys.exit(f"{done.stdout}\n{' '.join(map(str, command))}: exit status {done.returncode}")
    return done.stdout


def _measure_installed(environment: Path) -> str:
    """The size of what is installed, without pip and setuptools, which come with the environment."""
    sizes = [
        file.stat().st_size
        for package in environment.glob("lib/python*/site-packages/*")
        if not package.name.startswith(("pip", "setuptools", "pkg_resources", "_distutils"))
        for file in [package, *package.rglob("*")]
        if file.is_file() and file.suffix != ".pyc"
    ]
    return f"{sum(sizes) / 1e6:.1f} MB in {len(sizes):,} files"


def _measure(file: Path) -> str:
    return f"{file.name} ({file.stat().st_size / 1e6:.2f} MB)"


if __name__ == "__main__":
    main()
