"""What all tests share: hypothesis's profiles, interrupts, the switch that rewrites expected outputs."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from njrt.data.context import _stacks
from njrt.execution.contained.platforms import find_obstacle

# No test sees a setting or a key of the shell in which it runs.
for name in [name for name in os.environ if name.startswith(("NJC_", "OPENAI_", "ANTHROPIC_"))]:
    if name != "NJC_THOROUGH":
        del os.environ[name]

# Programs inherit this; nohup, under which tests may run, ignores the signal.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

pytest_plugins = ["pytester"]

# What the slow tests of a subject import lies beside their folder, or in it.
for slow in Path(__file__).parent.glob("**/slow"):
    sys.path += [str(slow.parent), str(slow)]

THOROUGH = bool(os.environ.get("NJC_THOROUGH"))

settings.register_profile(
    "modest",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough", settings.get_profile("modest"), max_examples=3000, derandomize=False
)
settings.load_profile("thorough" if THOROUGH else "modest")


# A shell has what it runs in the background ignore interrupts, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-cases",
        action="store_true",
        help="write what the compiler says today into the expected outputs under tests/cases",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not read slow files if only quick tests run: reading them takes much of a short run."""
    quick = config.getoption("-m") == "not slow"
    return True if quick and collection_path.name == "slow" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "slow" in item.path.relative_to(Path(__file__).parent).parts:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave the collected tests, many thousands of objects, out of garbage collections now and later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def restored_settings() -> Generator[None]:
    """A setting that a test leaves in the environment would change what later tests of the process do."""
    before = list_settings()
    yield
    for name in list_settings().keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(autouse=True)
def restored_imports() -> Generator[None]:
    """What a command has run in this process would be found by the imports of later tests."""
    paths, finders = [*sys.path], [*sys.meta_path]
    yield
    folder = tempfile.gettempdir()
    sys.path[:] = [path for path in sys.path if path in paths or not path.startswith(folder)]
    sys.meta_path[:] = [
        finder
        for finder in sys.meta_path
        if finder in finders or not type(finder).__module__.startswith("njc.")
    ]


@pytest.fixture(autouse=True)
def closed_items() -> Generator[None]:
    """A `with njrt.using` that a test leaves open in its context would hold for later tests of the process."""
    before = [(stack.variable.get(), list(stack.everywhere)) for stack in _stacks]
    yield
    after = [(stack.variable.get(), list(stack.everywhere)) for stack in _stacks]
    assert after[: len(before)] == before
    assert not any(map(any, after[len(before) :]))


def list_settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("NJC_")}


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the code of blocks in this process, unless the test sets another policy."""
    monkeypatch.setenv("NJC_POLICY", "guarded")


@pytest.fixture
def contained() -> None:
    """Skip the test on a system that cannot contain code."""
    if find_obstacle():
        pytest.skip("this system cannot contain code")


@pytest.fixture(params=["guarded", "contained"])
def policy(request: pytest.FixtureRequest) -> str:
    """Where the code of blocks runs: the test runs for both."""
    if request.param == "contained":
        request.getfixturevalue("contained")
    return str(request.param)


@pytest.fixture
def update_cases(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-cases"))
