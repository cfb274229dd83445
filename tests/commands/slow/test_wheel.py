"""Wheels built for real, without a network: compiled files are in them, and they are what `build` makes."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest
from workplace import GREETING, MISSPELT, Workplace

import njrt
from njrt.messages import Request
from processes import run_python

HATCH = """
[build-system]
requires = ["hatchling", "njpy"]
build-backend = "hatchling.build"

[project]
name = "shop"
version = "1.0"

[tool.hatch.build.targets.wheel]
packages = ["src/shop"]

[tool.hatch.build.hooks.njc]

[tool.njc]
max-effects = 9
"""
SETUPTOOLS = """
[build-system]
requires = ["setuptools>=70.1", "njpy"]
build-backend = "setuptools.build_meta"

[project]
name = "shop"
version = "1.0"

[tool.setuptools.packages.find]
where = ["src"]

[tool.setuptools.cmdclass]
build_py = "njc.setuptools_plugin.BuildNatural"

[tool.njc]
max-effects = 9
"""
SOURCES = {
    "src/shop/__init__.py": "",
    "src/shop/mail.njpy": GREETING,
    "src/shop/deep/__init__.py": "",
    "src/shop/deep/inner.njpy": GREETING,
}


def build_wheel(here: Workplace) -> subprocess.CompletedProcess[str]:
    flags = ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"]
    return here.python("-m", "pip", "wheel", ".", "-w", "dist", *flags)


def the_wheel(here: Workplace) -> Path:
    (wheel,) = (here.folder / "dist").glob("*.whl")
    return wheel


@pytest.mark.parametrize("project", [HATCH, SETUPTOOLS], ids=["hatchling", "setuptools"])
def test_a_wheel_ships_compiled_files(here: Workplace, project: str) -> None:
    here.write({"pyproject.toml": project, **SOURCES})
    built = build_wheel(here)
    assert built.returncode == 0, built.stdout + built.stderr
    with zipfile.ZipFile(the_wheel(here)) as wheel:
        compiled = {name: wheel.read(name) for name in wheel.namelist() if name.endswith(".py")}
    assert sorted(compiled) == [
        "shop/__init__.py",
        "shop/deep/__init__.py",
        "shop/deep/inner.py",
        "shop/mail.py",
    ]
    here.njc("build", "src", "-o", "out")
    assert compiled["shop/mail.py"].decode() == here.read("out/shop/mail.py")
    assert 'project={"max_effects": 9}' in here.read("out/shop/mail.py")
    assert not (here.folder / "src/shop/mail.py").exists()


@pytest.mark.parametrize("project", [HATCH, SETUPTOOLS], ids=["hatchling", "setuptools"])
def test_errors_stop_the_wheel(here: Workplace, project: str) -> None:
    here.write({"pyproject.toml": project, **SOURCES, "src/shop/mail.njpy": MISSPELT})
    built = build_wheel(here)
    assert built.returncode != 0
    assert "shop/mail.njpy:3:11: error[NJ201]" in built.stdout + built.stderr
    assert not [file for file in here.files() if file.endswith(".whl")]


@pytest.mark.parametrize("project", [HATCH, SETUPTOOLS], ids=["hatchling", "setuptools"])
def test_a_wheel_replaces_no_python_file(here: Workplace, project: str) -> None:
    here.write({"pyproject.toml": project, **SOURCES, "src/shop/mail.py": "mine = 1\n"})
    built = build_wheel(here)
    assert built.returncode != 0
    assert "src/shop/mail.py beside it are the same module" in built.stdout + built.stderr


STATIC = GREETING.replace('"""natural', '"""natural(mode="static")')


def write_code(request: Request) -> str:
    """Answer with code for the greeting."""
    return '```python\ngreeting = f"Hello {name}"\n```'


@pytest.mark.parametrize("src", ['src = "src"', ""], ids=["settings", "no settings"])
@pytest.mark.parametrize("project", [HATCH, SETUPTOOLS], ids=["hatchling", "setuptools"])
def test_a_wheel_ships_the_code_of_the_lock(here: Workplace, project: str, src: str) -> None:
    here.write({"pyproject.toml": f"{project}\n{src}\n", **SOURCES, "src/shop/mail.njpy": STATIC})
    built = build_wheel(here)
    assert built.returncode != 0
    assert "in njc.lock is missing" in built.stdout + built.stderr
    with njrt.using(model=njrt.Scripted(write_code, protocol="text")):
        assert here.njc("build", "src", "-o", "out").exit_code == 0
    built = build_wheel(here)
    assert built.returncode == 0, built.stdout + built.stderr
    with zipfile.ZipFile(the_wheel(here)) as wheel:
        assert wheel.read("shop/mail.py").decode() == here.read("out/shop/mail.py")
    assert 'greeting = f"Hello {name}"' in here.read("out/shop/mail.py")


def test_a_source_distribution_of_setuptools_carries_the_sources(here: Workplace) -> None:
    here.write({"pyproject.toml": SETUPTOOLS, "njc.lock": "version = 1\n", **SOURCES})
    program = "from setuptools import build_meta as b; print(b.build_sdist('dist'))"
    built = here.python("-c", program)
    assert built.returncode == 0, built.stderr
    listed = run_python(
        "-m", "tarfile", "-l", str(here.folder / "dist/shop-1.0.tar.gz"), check=True
    ).stdout
    assert "shop-1.0/src/shop/deep/inner.njpy" in listed
    assert "shop-1.0/njc.lock" in listed


def test_single_modules_are_compiled_too(here: Workplace) -> None:
    project = SETUPTOOLS.replace(
        '[tool.setuptools.packages.find]\nwhere = ["src"]',
        '[tool.setuptools]\npackages = []\npy-modules = ["single"]',
    )
    here.write({"pyproject.toml": project, "single.njpy": GREETING})
    built = build_wheel(here)
    assert built.returncode == 0, built.stdout + built.stderr
    with zipfile.ZipFile(the_wheel(here)) as wheel:
        assert b"compiled by njc" in wheel.read("single.py")
