"""Wheels built for real, without a network: compiled files are in them, and they are what `build` makes."""

from __future__ import annotations

import pytest
from workplace import GREETING, MISSPELT, WRITER, Workplace, build_wheel, read_wheel

import njrt

PROJECT = """
[project]
name = "shop"
version = "1.0"

[tool.njc]
max-effects = 9
"""
HATCH = f"""{PROJECT}
[build-system]
requires = ["hatchling", "njpy"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
packages = ["src/shop"]

[tool.hatch.build.hooks.njc]
"""
SETUPTOOLS = f"""{PROJECT}
[build-system]
requires = ["setuptools>=70.1", "njpy"]
build-backend = "setuptools.build_meta"

[tool.setuptools.packages.find]
where = ["src"]

[tool.setuptools.cmdclass]
build_py = "njc.setuptools_plugin.BuildNatural"
"""
SOURCES = {
    "src/shop/__init__.py": "",
    "src/shop/mail.njpy": GREETING,
    "src/shop/deep/__init__.py": "",
    "src/shop/deep/inner.njpy": GREETING,
}


both_backends = pytest.mark.parametrize(
    "project", [HATCH, SETUPTOOLS], ids=["hatchling", "setuptools"]
)


@both_backends
def test_a_wheel_ships_compiled_files(here: Workplace, project: str) -> None:
    here.write({"pyproject.toml": project, **SOURCES})
    build_wheel(here)
    compiled = {name: text for name, text in read_wheel(here).items() if name.endswith(".py")}
    assert sorted(compiled) == [
        "shop/__init__.py",
        "shop/deep/__init__.py",
        "shop/deep/inner.py",
        "shop/mail.py",
    ]
    here.njc("build", "src", "-o", "out")
    assert compiled["shop/mail.py"] == here.read("out/shop/mail.py")
    assert 'project={"max_effects": 9}' in here.read("out/shop/mail.py")
    assert not (here.folder / "src/shop/mail.py").exists()


@both_backends
@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("src/shop/mail.njpy", MISSPELT, "shop/mail.njpy:3:11: error[NJ201]"),
        ("src/shop/mail.njpy", "def f(:\n", "shop/mail.njpy:1:7: error[NJ001]"),
        ("src/shop/mail.py", "mine = 1\n", "src/shop/mail.py beside it are the same module"),
    ],
    ids=["an error", "no Python", "a Python file beside"],
)
def test_what_stops_a_wheel(
    here: Workplace, project: str, path: str, text: str, words: str
) -> None:
    here.write({"pyproject.toml": project, **SOURCES, path: text})
    assert words in build_wheel(here, code=1)
    assert not [file for file in here.files() if file.endswith(".whl")]


STATIC = GREETING.replace('"""natural', '"""natural(mode="static")')


@pytest.mark.parametrize("src", ['src = "src"', ""], ids=["settings", "no settings"])
@both_backends
def test_a_wheel_ships_the_code_of_the_lock(here: Workplace, project: str, src: str) -> None:
    settings = project.replace("[tool.njc]", f"[tool.njc]\n{src}")
    here.write({"pyproject.toml": settings, **SOURCES, "src/shop/mail.njpy": STATIC})
    assert "in njc.lock is missing" in build_wheel(here, code=1)
    with njrt.using(model=WRITER):
        here.njc("build", "src", "-o", "out")
    build_wheel(here)
    assert read_wheel(here)["shop/mail.py"] == here.read("out/shop/mail.py")
    assert 'greeting = f"Hello {name}"' in here.read("out/shop/mail.py")


def test_a_source_distribution_of_setuptools_carries_the_sources(here: Workplace) -> None:
    here.write({"pyproject.toml": SETUPTOOLS, "njc.lock": "version = 1\n", **SOURCES})
    here.python("-c", "from setuptools import build_meta as b; print(b.build_sdist('dist'))")
    listed = here.python("-m", "tarfile", "-l", "dist/shop-1.0.tar.gz").stdout
    assert "shop-1.0/src/shop/deep/inner.njpy" in listed
    assert "shop-1.0/njc.lock" in listed


def test_single_modules_are_compiled_too(here: Workplace) -> None:
    project = SETUPTOOLS.replace(
        '[tool.setuptools.packages.find]\nwhere = ["src"]',
        '[tool.setuptools]\npackages = []\npy-modules = ["single"]',
    )
    here.write({"pyproject.toml": project, "single.njpy": GREETING})
    build_wheel(here)
    assert "compiled by njc" in read_wheel(here)["single.py"]
