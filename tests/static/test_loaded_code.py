"""The import hook, `njc run` and the debugger run the code that a locked build ships."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from studio import Studio

import njrt
from case_programs import read_program
from njc.project.build import NaturalSyntaxError
from njc.project.config import find_project
from njc.static.load import load_code

SETTINGS = """\
[tool.njc]
src = ["src"]
"""
SHOP = read_program("loaded_code_shop")
GOOD = "```python\ny = 0\ny = 2 * x // (x != 7)\n```"


@pytest.fixture
def shop(studio: Studio) -> Path:
    """A project with locked code for its static block, without compiled files."""
    (studio.folder / "src" / "kept").mkdir(parents=True)
    file = studio.folder / "src" / "kept" / "shop.njpy"
    studio.write({"pyproject.toml": SETTINGS, "src/kept/shop.njpy": SHOP})
    studio.njc("build", replies=[GOOD])
    file.with_suffix(".py").unlink()
    return file


def load(file: Path, **environ: str) -> CodeType:
    return load_code(file, file.read_bytes(), find_project(file, {}), environ)[0]


def run(code: CodeType) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "shop"}
    exec(code, names)
    return names


def test_a_static_block_runs_its_locked_code(shop: Path) -> None:
    names = run(load(shop))
    assert names["double"](4) == 8
    with pytest.raises(ZeroDivisionError) as error:
        names["double"](7)
    assert error.traceback[-1].path == shop
    assert error.traceback[-1].lineno == 2  # counted from 0: the block
    with njrt.using(model=njrt.Scripted([{"y": "Lungo"}])):
        assert names["name"]() == "Lungo"


def test_edited_code_of_the_lock_runs(shop: Path, studio: Studio) -> None:
    lock = studio.read("njc.lock")
    studio.write({"njc.lock": lock.replace("2 * x", "3 * x")})
    assert run(load(shop))["double"](4) == 12


def test_the_environment_replaces_the_mode_of_the_project(shop: Path) -> None:
    names = run(load(shop, NJC_MODE="live"))
    with njrt.using(model=njrt.Scripted([{"y": 9}])):
        assert names["double"](4) == 9
    assert run(load(shop, NJC_MODE=""))["double"](4) == 8
    with pytest.raises(
        NaturalSyntaxError, match=r"the code of `kept/shop\.njpy:name` in njc\.lock is missing"
    ):
        load(shop, NJC_MODE="static")
    with pytest.raises(njrt.ConfigurationError, match=r"NJC_MODE: .*fast"):
        load(shop, NJC_MODE="fast")


@pytest.mark.parametrize("case", ["missing", "stale", "refused"])
def test_code_that_would_not_ship_is_an_error(shop: Path, studio: Studio, case: str) -> None:
    match case:
        case "missing":
            (studio.folder / "njc.lock").unlink()
        case "stale":
            shop.write_text(SHOP.replace("Double", "Halve"))
        case "refused":
            studio.write({"njc.lock": studio.read("njc.lock").replace("2 * x", "undefined * x")})
    with pytest.raises(NaturalSyntaxError, match=r"shop.*double.*NJ40[24]") as error:
        load(shop)
    assert error.value.lineno == 3
    assert "NJC_MODE=live" in error.value.__notes__[0]


def test_a_fallback_runs_live_without_code(shop: Path, studio: Studio) -> None:
    shop.write_text(SHOP.replace('mode="static"', 'mode="static", fallback="live"'))
    (studio.folder / "njc.lock").unlink()
    with njrt.using(model=njrt.Scripted([{"y": 5}])):
        assert run(load(shop))["double"](4) == 5


def test_the_hook_imports_what_a_build_ships(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import njc.hook

    monkeypatch.syspath_prepend(str(shop.parents[1]))
    njc.hook.install()
    try:
        from kept.shop import double

        assert double(4) == 8
    finally:
        njc.hook.uninstall()
        for name in ("kept", "kept.shop"):
            sys.modules.pop(name, None)
