"""The full screen of `njc debug`, as text: `tests/debug/screens`, at two sizes; its keys."""

from __future__ import annotations

import asyncio
import html
import json
import queue
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import RichLog, TextArea

from njc.runs.debug.app import PANES, TABS, DebugApp
from njc.runs.debug.session import DebugSession
from njc.runs.timeline.happenings import ReplyStreamed, RunSettings
from njc.runs.timeline.run_controller import RunController
from njc.runs.timeline.steps import Position

ROOT = Path(__file__).parents[3]
SCREENS = Path(__file__).parents[1] / "screens"
CITATIONS = ROOT / "examples" / "wrong_citations.njpy"
SECONDS = 120.0
SIZES = [(80, 24), (120, 40)]


@asynccontextmanager
async def debugging(
    program: Path, size: tuple[int, int]
) -> AsyncIterator[tuple[DebugApp, Pilot[None]]]:
    """Yield the full screen on a program with its recording, stopped at the first step."""
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    recording = program.parent / "recordings" / f"{program.stem}.jsonl"
    run = RunController(RunSettings(program, recording=recording, is_replay_only=True), jobs.put)
    app = DebugApp(DebugSession(run), jobs)
    try:
        async with app.run_test(size=size) as pilot:
            run.start()
            await wait_until(pilot, lambda: app.report is not None or "ended" in app.status)
            yield app, pilot
    finally:
        jobs.put(None)
        run.close()


async def wait_until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    """Wait until something is so on the screen."""
    async with asyncio.timeout(SECONDS):
        while not is_so():
            assert pilot.app.is_running, "the screen has ended"
            await pilot.pause(0.02)
    await pilot.pause()


async def press(app: DebugApp, pilot: Pilot[None], *keys: str) -> None:
    """Press keys that move the run, one after the other."""
    for key in keys:
        before = get_position(app)
        await pilot.press(key)
        await wait_until(
            pilot, lambda before=before: get_position(app) != before or "ended" in app.status
        )


def get_position(app: DebugApp) -> Position | None:
    return app.report.step.position if app.report is not None else None


def read_screen(app: DebugApp) -> str:
    """What the screen shows, as text without colours."""
    svg = app.export_screenshot()
    rows: dict[int, list[tuple[float, str]]] = {}
    for x, line, text in re.findall(
        r'<text class="[^"]*-r\d+" x="([\d.]+)" y="[\d.]+" textLength="[^"]*" clip-path="url\(#[^"]*-line-(\d+)\)">(.*?)</text>',
        svg,
    ):
        rows.setdefault(int(line), []).append((float(x), html.unescape(text).replace("\xa0", " ")))
    lines = []
    for number in range(max(rows, default=-1) + 1):
        line = ""
        for x, text in sorted(rows.get(number, [])):
            line = line.ljust(round(x / 12.2)) + text
        lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def read_console(app: DebugApp) -> str:
    return "\n".join(line.text for line in app.query_one(RichLog).lines)


def check_screen(app: DebugApp, name: str, update: bool) -> None:
    """Compare the screen with the file of this name."""
    file = SCREENS / f"{name}.txt"
    shown = read_screen(app)
    if update:
        SCREENS.mkdir(exist_ok=True)
        file.write_text(shown)
    assert shown == file.read_text()


def run_async(test: Callable[[], Awaitable[None]]) -> None:
    async def with_limit() -> None:
        async with asyncio.timeout(SECONDS):
            await test()

    asyncio.run(with_limit())


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_an_effect_and_what_it_has_changed(size: tuple[int, int], update_cases: bool) -> None:
    async def test() -> None:
        async with debugging(CITATIONS, size) as (app, pilot):
            name = f"{size[0]}x{size[1]}"
            await press(app, pilot, "s")
            check_screen(app, f"effect-{name}", update_cases)
            await press(app, pilot, "n")
            await pilot.press("2")
            await pilot.pause()
            check_screen(app, f"exit-{name}", update_cases)

    run_async(test)


def test_keys_go_forward_and_back() -> None:
    async def test() -> None:
        async with debugging(CITATIONS, (80, 24)) as (app, pilot):
            places = []
            for key in "ssnnSNsrRnC":
                await press(app, pilot, key)
                places.append(str(get_position(app) or Position(-1)))
            assert places == ["1", "1.1", "1.2", "2", "1.2", "1.1", "1.2", "2", "0", "1", "0"]
            await pilot.press("question_mark")
            await wait_until(pilot, lambda: "save FILE" in read_console(app))

    run_async(test)


def test_panes_are_chosen_and_enlarged_by_keys() -> None:
    async def test() -> None:
        async with debugging(CITATIONS, (80, 24)) as (app, pilot):
            for digit, name in enumerate(PANES + TABS):
                await pilot.press(str(digit))
                await wait_until(pilot, lambda name=name: app.focused == app.query_one(f"#{name}"))
            await pilot.press("1", "z")
            await wait_until(pilot, lambda: app.screen.maximized == app.query_one("#effect"))
            await pilot.press("escape")
            await wait_until(pilot, lambda: app.screen.maximized is None)

    run_async(test)


def test_an_effect_is_edited_and_earlier_commands_are_recalled() -> None:
    async def test() -> None:
        async with debugging(CITATIONS, (80, 24)) as (app, pilot):
            await press(app, pilot, "s")
            await pilot.press("e")
            await wait_until(pilot, lambda: len(app.screen_stack) == 2)
            app.screen.query_one(TextArea).text = "answer = 'edited'"
            await pilot.press("f2")
            await wait_until(pilot, lambda: "answer = 'edited'" in read_screen(app))
            await pilot.press("colon", *"p 1", "enter")
            await wait_until(pilot, lambda: app.status == "int = 1")
            await pilot.press("colon", "up", "enter")
            await wait_until(pilot, lambda: read_console(app).count("(njc) p 1") == 2)
            await press(app, pilot, "n")
            assert "edited" in str(app.report and app.report.variables[0])

    run_async(test)


def test_a_reply_is_shown_while_it_comes_in() -> None:
    async def test() -> None:
        async with debugging(CITATIONS, (80, 24)) as (app, pilot):
            text = json.dumps({"code": "first = 1\nsecond = 'two"})[:-2]
            app._jobs.put(ReplyStreamed(1, "wrong_citations.njpy:14", 2, text))
            await wait_until(pilot, lambda: "characters" in app.status)
            assert app.status.startswith("wrong_citations.njpy:14, turn 2: 23 characters so far")
            assert "~ first = 1" in read_console(app)
            await press(app, pilot, "s")
            assert "~ second = 'two" in read_console(app)

    run_async(test)


def test_wrong_commands_show_one_line() -> None:
    async def test() -> None:
        async with debugging(CITATIONS, (120, 40)) as (app, pilot):
            for command, message in {
                "b block wrong_citations.njpy:99": "error: there is no prompt at wrong_citations.njpy:99",
                "goto -1": "error: `goto -1`: write the number of a step, such as goto 12",
                "v foo": "error: `v` takes no arguments; leave `foo` out",
                "reject": "error: write `reject WORDS`: refuse the effect; the model is answered WORDS",
            }.items():
                app._jobs.put(command)
                await wait_until(pilot, lambda message=message: app.status == message)

    run_async(test)
