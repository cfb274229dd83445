"""The pytest plugin: tests of natural programs run offline, each on its own recording.

    tests/test_mail.py::test_it[spam]   replays   tests/recordings/test_mail/test_it[spam].jsonl

    pytest                          replays; a block that is not in the recording fails its test
    pytest --njc-record=once        asks the model if there is no recording yet, and writes it
    pytest --njc-record=new         asks the model for what is not in the recording, and adds it
    pytest --njc-record=all         records everything again
    pytest --njc-record=off         always asks the model, records nothing; so does NJC_RECORD=off

While a test and its fixtures run, NJC_RECORD names its recording. So threads and programs that the
test starts replay it too. A test with its own model or recording
(`njrt.using(model=njrt.Scripted([...]))`) is not affected.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from njrt.log.recorder import Recorder

_VARIABLE = "NJC_RECORD"
_OFF = "off"
_MODES = ("none", "once", "new", "all", _OFF)
_MARKER_HELP = (
    "njc_recording(path): replay and record this test's natural blocks in the file `path`, "
    "relative to the test file, in place of one named after the test"
)
_ADVICE_PATTERN = re.compile(
    r"; create it with NJC_RECORD=.*|\bNJC_RECORD=(none|once|new|all):\S+?(?=[,;]?\s|$)"
)
_MAX_NAME_CHARS = 100

_outer_variable = pytest.StashKey[str | None]()
_begun_recordings = pytest.StashKey[set[Path]]()
"""The recordings that a test of this session started; others that share one add to it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--njc-record` and the setting that it overrides, `njc_record`."""
    help = "natural blocks: none (only replay), once, new, all or off (always ask the model)"
    group = parser.getgroup("natural code")
    group.addoption("--njc-record", choices=_MODES, help=help)
    parser.addini("njc_record", help, default="none")


def pytest_configure(config: pytest.Config) -> None:
    """From now on, ask no model at import or in tests, unless recording was requested."""
    config.addinivalue_line("markers", _MARKER_HELP)
    mode = _find_mode(config)
    if mode not in _MODES:
        raise pytest.UsageError(f"njc_record must be one of {', '.join(_MODES)}, not {mode!r}")
    config.stash[_outer_variable] = os.environ.get(_VARIABLE)
    # Outside tests, blocks run when modules are imported, mostly during collection.
    os.environ[_VARIABLE] = _format_setting(
        mode, config.rootpath / "recordings" / "collection.jsonl"
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Restore the environment."""
    _set_variable(config.stash.get(_outer_variable, None))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test, with its fixtures, on its recording."""
    recording, mode = find_recording_path(item), _find_mode(item.config)
    begun = item.config.stash.setdefault(_begun_recordings, set())
    if mode in ("once", "all") and recording in begun:
        mode = "new"
    elif mode == "all" or (mode == "once" and not recording.exists()):
        begun.add(recording)
    with _replay_recording(recording, mode):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test if its blocks cannot be replayed, even if it caught the error."""
    report = yield
    recorder = None if report.skipped else _find_recorder()
    if recorder is not None and recorder.errors:
        errors = recorder.errors
        report.outcome = "failed"
        report.longrepr = _explain_error(str(errors[0]), errors[0].place, item)
        errors.clear()
    return report


@pytest.fixture
def njc_recording(request: pytest.FixtureRequest) -> Path:
    """Return the path of this test's recording; it may not exist."""
    return find_recording_path(request.node)


def find_recording_path(item: pytest.Item) -> Path:
    """Return a test's recording: its marker's, or else one named after its file and itself."""
    marker = item.get_closest_marker("njc_recording")
    if marker is not None and (marker.args or marker.kwargs):
        if len(marker.args) != 1 or marker.kwargs:
            raise pytest.UsageError(
                f"{item.nodeid}: {_MARKER_HELP.partition(':')[0]} takes one path"
            )
        from njrt.log.recording_place import refuse_store

        refuse_store(str(marker.args[0]))
        return item.path.parent / str(marker.args[0])
    name = item.nodeid.partition("::")[2] or item.name
    folder = item.path.parent / "recordings" / item.path.stem
    files = os.listdir(folder) if folder.is_dir() else []
    return folder / _make_file_name(name, files)


def _make_file_name(test: str, files: Collection[str]) -> str:
    """Return a file name that is valid and unique on every system, also without capitals.

    If characters were replaced, or some are capitals, a digest makes it unique. A file without the
    digest, which an older version has made for a test with capitals, is used under its name.
    """
    plain = test.replace("::", ".")
    kept = re.sub(r"[^\w.\-\[\]]", "-", plain, flags=re.ASCII)[:_MAX_NAME_CHARS]
    usual = f"{kept}.jsonl"
    unique = f"{kept}-{hashlib.sha256(test.encode()).hexdigest()[:8]}.jsonl"
    if kept != plain:
        return unique
    is_taken = usual.lower() in map(str.lower, files)
    is_usual = usual in files or (kept == kept.lower() and not is_taken and unique not in files)
    return usual if is_usual else unique


def _find_mode(config: pytest.Config) -> str:
    """Return the mode of the flag, of the environment if that is `off`, or of the setting."""
    flag = config.getoption("--njc-record")
    outer = config.stash.get(_outer_variable, os.environ.get(_VARIABLE))
    return str(flag or (_OFF if outer == _OFF else config.getini("njc_record")))


def _format_setting(mode: str, recording: Path) -> str:
    return mode if mode == _OFF else f"{mode}:{recording}"


@contextmanager
def _replay_recording(recording: Path, mode: str) -> Iterator[None]:
    outer = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = _format_setting(mode, recording)
    try:
        yield
    finally:
        if (recorder := _find_recorder()) is not None:
            recorder.close()
            # The next test may be this one again.
            sys.modules["njrt.block.session.settings"].get_environment_recorder.cache_clear()
        _set_variable(outer)


def _set_variable(value: str | None) -> None:
    if value is None:
        os.environ.pop(_VARIABLE, None)
    else:
        os.environ[_VARIABLE] = value


def _find_recorder() -> Recorder | None:
    """Return the recorder that NJC_RECORD configures; None if no block has run."""
    if "njrt.block.session.layered_model" not in sys.modules:
        return None
    from njrt.block.session.layered_model import find_recorder
    from njrt.block.session.settings import NO_SETTINGS

    return find_recorder(NO_SETTINGS, os.environ)


def _explain_error(message: str, place: str | None, item: pytest.Item) -> str:
    """Return the message of a RecordingError, with pytest's options."""
    text = _ADVICE_PATTERN.sub(
        lambda advice: f"--njc-record={advice[1]}" if advice[1] else "", message
    ).replace(f"{item.config.rootpath}{os.sep}", "")
    if place and place not in text:
        text = f"{place}: {text}"
    if "--njc-record=" not in text:
        text += f"; record one with: pytest --njc-record=once '{item.nodeid}'"
    return text
