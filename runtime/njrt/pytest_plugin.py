"""The pytest plugin: tests of natural programs run offline, each from a recording of its own.

    tests/test_mail.py::test_triage[spam]     replays     tests/recordings/test_mail/test_triage[spam].jsonl

    pytest                          replays; a block that is not in the recording fails its test
    pytest --njc-record=once        asks the model where there is no recording yet, and writes it
    pytest --njc-record=new         asks the model for what is not in the recording, and adds it
    pytest --njc-record=all         records everything anew
    pytest --njc-record=off         asks the model each time, and records nothing; so does NJC_RECORD=off

While a test runs, with its fixtures, NJC_RECORD names its recording; so threads and programs that the test
starts replay too, and nothing of the runtime is loaded before a block runs. A test that brings a model or
a recording of its own (`njrt.using(model=njrt.Scripted([...]))`) is left alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from njrt.persistence.recorder import Recorder

_VARIABLE = "NJC_RECORD"
_OFF = "off"
_MODES = ("none", "once", "new", "all", _OFF)
_MARKER_HELP = (
    "njc_recording(path): replay and record this test's natural blocks in the file `path`, "
    "relative to the test file, in place of one named after the test"
)
_ADVICE_PATTERN = re.compile(
    r"; make one with NJC_RECORD=.*|\bNJC_RECORD=(none|once|new|all):\S+?(?=[,;]?\s|$)"
)
_MAX_NAME_CHARS = 100

_outer_variable = pytest.StashKey[str | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--njc-record`, and the setting `njc_record` that it overrides."""
    help = "natural blocks: none (only replay), once, new, all or off (ask the model each time)"
    parser.getgroup("natural code").addoption("--njc-record", choices=_MODES, help=help)
    parser.addini("njc_record", help, default="none")


def pytest_configure(config: pytest.Config) -> None:
    """From here on nothing asks a model unless recording was asked for, be it at import or in a test."""
    config.addinivalue_line("markers", _MARKER_HELP)
    mode = _find_mode(config)
    if mode not in _MODES:
        raise pytest.UsageError(f"njc_record must be one of {', '.join(_MODES)}, not {mode!r}")
    config.stash[_outer_variable] = os.environ.get(_VARIABLE)
    # Outside of tests blocks run where modules are imported, mostly while tests are collected.
    os.environ[_VARIABLE] = _format_setting(
        mode, config.rootpath / "recordings" / "collection.jsonl"
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Put the environment back."""
    _set_variable(config.stash.get(_outer_variable, None))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test, its fixtures included, on its recording."""
    with _replay_recording(find_recording_path(item), _find_mode(item.config)):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test whose blocks cannot be replayed, even if it caught the error, and say what to do."""
    report = yield
    recorder = None if report.skipped else _find_recorder()
    if recorder is not None and recorder.refused:
        refused = recorder.refused
        report.outcome = "failed"
        report.longrepr = _explain_error(str(refused[0]), refused[0].place, item)
        refused.clear()
    return report


@pytest.fixture
def njc_recording(request: pytest.FixtureRequest) -> Path:
    """The path of the recording that this test's natural blocks replay, whether it is there or not."""
    return find_recording_path(request.node)


def find_recording_path(item: pytest.Item) -> Path:
    """The recording of a test: as its marker says, or else named after its file and itself."""
    marker = item.get_closest_marker("njc_recording")
    if marker is not None:
        if len(marker.args) != 1 or marker.kwargs:
            raise pytest.UsageError(
                f"{item.nodeid}: {_MARKER_HELP.partition(':')[0]} takes one path"
            )
        return item.path.parent / str(marker.args[0])
    name = item.nodeid.partition("::")[2] or item.name
    return item.path.parent / "recordings" / item.path.stem / f"{_make_file_name(name)}.jsonl"


def _make_file_name(test: str) -> str:
    """A name for a file on every system; where it had to be changed, a digest tells it from others."""
    plain = test.replace("::", ".")
    kept = re.sub(r"[^\w.\-\[\]]", "-", plain, flags=re.ASCII)[:_MAX_NAME_CHARS]
    return kept if kept == plain else f"{kept}-{hashlib.sha256(test.encode()).hexdigest()[:8]}"


def _find_mode(config: pytest.Config) -> str:
    """What the flag says, or the environment where it says `off`, or the setting."""
    asked = config.getoption("--njc-record")
    around = config.stash.get(_outer_variable, os.environ.get(_VARIABLE))
    return str(asked or (_OFF if around == _OFF else config.getini("njc_record")))


def _format_setting(mode: str, recording: Path) -> str:
    return mode if mode == _OFF else f"{mode}:{recording}"


@contextmanager
def _replay_recording(recording: Path, mode: str) -> Iterator[None]:
    around = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = _format_setting(mode, recording)
    try:
        yield
    finally:
        _close_recording()
        _set_variable(around)


def _set_variable(said: str | None) -> None:
    if said is None:
        os.environ.pop(_VARIABLE, None)
    else:
        os.environ[_VARIABLE] = said


def _close_recording() -> None:
    """Write what the test recorded, and begin anew for the next one, which may be the same test again."""
    if (recorder := _find_recorder()) is not None:
        recorder.close()
        sys.modules["njrt.session.settings"].get_environment_recorder.cache_clear()


def _find_recorder() -> Recorder | None:
    """What NJC_RECORD asks for here; None also where no block has run, so that nothing is loaded for it."""
    settings: Any = sys.modules.get("njrt.session.settings")
    recorder: Recorder | None = settings and settings.find_recorder(
        settings.NO_SETTINGS, os.environ
    )
    return recorder


def _explain_error(message: str, place: str | None, item: pytest.Item) -> str:
    """The message of a RecordingError, in terms of pytest."""
    text = _ADVICE_PATTERN.sub(
        lambda advice: f"--njc-record={advice[1]}" if advice[1] else "", message
    ).replace(f"{item.config.rootpath}{os.sep}", "")
    if place and place not in text:
        text = f"{place}: {text}"
    if "--njc-record=" not in text:
        text += f"; record one with: pytest --njc-record=once '{item.nodeid}'"
    return text
