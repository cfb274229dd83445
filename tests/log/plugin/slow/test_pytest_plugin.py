"""The pytest plugin, on projects of its own: offline unless recording is asked for, one recording a test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from openai_server import KEY, OpenAIServer, says

pytest.importorskip("openai")  # also for the projects, which else import it each anew

INI = "[pytest]\naddopts = -p no:njrt -p njrt.pytest_plugin\n"
CODE = "```python\nanswer = 2 * number\n```"
TEST = """
from doubling import double

def test_double():
    assert double(21) == 42
"""


@dataclass(frozen=True)
class ServedProject:
    """A project, and the model's server that its environment names, as a developer's shell would."""

    project: pytest.Pytester
    server: OpenAIServer

    def write(self, tests: str) -> None:
        self.project.makepyfile(test_it=tests)

    def run(self, *arguments: str, **outcomes: int) -> pytest.RunResult:
        """Run the tests, which must end so."""
        result = self.project.runpytest_inprocess(*arguments)
        result.assert_outcomes(**outcomes)
        return result

    def count_requests(self) -> int:
        return sum(seen.method == "POST" for seen in self.server.seen)

    def list_recordings(self) -> list[str]:
        files = self.project.path.rglob("*.jsonl")
        return sorted(file.relative_to(self.project.path).as_posix() for file in files)


@pytest.fixture
def served(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedProject]:
    with OpenAIServer([says(CODE)] * 20, vendor=False) as server:
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
        monkeypatch.setenv("NJC_API_KEY", KEY)
        monkeypatch.setenv("NJC_MODEL", "gpt-4.1")
        yield ServedProject(project, server)


def test_a_test_records_once_and_then_replays_offline(served: ServedProject) -> None:
    served.write(TEST)
    served.run("--njc-record=once", passed=1)
    assert served.count_requests() == 1
    assert served.list_recordings() == ["recordings/test_it/test_double.jsonl"]
    served.run(passed=1)
    served.run("--njc-record=once", passed=1)
    assert served.count_requests() == 1


def test_without_a_recording_a_test_fails_with_one_message_and_asks_nobody(
    served: ServedProject,
) -> None:
    served.write(TEST)
    result = served.run(failed=1)
    result.stdout.fnmatch_lines(
        [
            "doubling.njpy:2: there is no recording recordings/test_it/test_double.jsonl; record one "
            "with: pytest --njc-record=once 'test_it.py::test_double'"
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert "def test_double" not in result.stdout.str()
    assert (served.count_requests(), served.list_recordings()) == (0, [])


def test_a_recording_that_does_not_fit_shows_the_first_difference(served: ServedProject) -> None:
    served.write(TEST)
    served.run("--njc-record=once", passed=1)
    served.write(TEST.replace("(21) == 42", "(4) == 8"))
    result = served.run(failed=1)
    result.stdout.fnmatch_lines(
        [
            "doubling.njpy:2: the program differs from the recording*",
            "*recorded: *21",
            "*now: *4",
            "in recordings/test_it/test_double.jsonl; record the difference with --njc-record=new, "
            "or everything again with --njc-record=all",
        ]
    )
    served.run("--njc-record=new", passed=1)
    served.run(passed=1)
    assert served.count_requests() == 2


def test_an_error_that_the_program_swallows_still_fails_the_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import njrt
        import pytest
        from doubling import double

        def test_swallowed():
            try:
                double(1)
            except Exception:
                pass

        def test_expected():
            with pytest.raises(njrt.NaturalError):
                double(1)

        def test_without_blocks():
            pass
        """
    )
    project.runpytest_inprocess().assert_outcomes(failed=2, passed=1)


def test_a_test_with_a_model_of_its_own_is_left_alone(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import njrt
        from njrt.testing import run
        from doubling import double

        def test_scripted(njc_recording):
            with njrt.using(model=njrt.Scripted([run("answer = 'mine'", done=True)])):
                assert double(1) == "mine"
            assert not njc_recording.exists()
        """
    )
    for mode in ("none", "once", "all"):
        project.runpytest_inprocess(f"--njc-record={mode}").assert_outcomes(passed=1)


def test_each_test_has_a_recording_of_its_own(served: ServedProject) -> None:
    served.write("""
            import os
            import pytest
            from doubling import double

            @pytest.mark.parametrize("number", [1, 2], ids=["one", "a/b: two"])
            def test_numbers(number, njc_recording):
                assert double(number) == 2 * number
                assert njc_recording.parent.name == "test_it"

            class TestMore:
                def test_it(self, tmp_path, monkeypatch):
                    monkeypatch.chdir(tmp_path)
                    assert double(3) == 6

            @pytest.fixture
            def eight():
                return double(4)

            @pytest.mark.njc_recording("shared/eight.jsonl")
            def test_fixture(eight):
                assert eight == 8
            """)
    served.run("--njc-record=once", passed=4)
    found = served.list_recordings()
    assert [name for name in found if "two" not in name] == [
        "recordings/test_it/TestMore.test_it-fc3db2a6.jsonl",
        "recordings/test_it/test_numbers[one].jsonl",
        "shared/eight.jsonl",
    ]
    assert any(name.startswith("recordings/test_it/test_numbers[a-b--two]-") for name in found)
    served.run("-p", "no:randomly", passed=4)
    assert served.count_requests() == 4


def test_the_setting_chooses_the_mode_and_the_flag_overrides_it(served: ServedProject) -> None:
    served.project.makeini(INI + "njc_record = once\n")
    served.write(TEST)
    served.run("--njc-record=none", failed=1)
    served.run(passed=1)
    assert served.count_requests() == 1
    served.run("--njc-record=all", passed=1)
    assert served.count_requests() == 2


def test_a_wrong_setting_is_a_usage_error(project: pytest.Pytester) -> None:
    project.makeini(INI + "njc_record = sometimes\n")
    result = project.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*njc_record must be one of none, once, new, all, off, not 'sometimes'"]
    )


def test_a_test_that_runs_twice_in_one_process_hears_the_same(served: ServedProject) -> None:
    served.server.script[:] = [says(f"```python\nanswer = {each}\n```") for each in (1, 2)]
    served.write("""
        from doubling import double

        def test_double():
            assert [double(0), double(0)] == [1, 2]
        """)
    served.run("--njc-record=once", passed=1)
    served.run("test_it.py", "--keep-duplicates", "test_it.py", passed=2)


def test_programs_that_a_test_starts_replay_too(served: ServedProject) -> None:
    served.write("""
        import subprocess, sys

        def test_program():
            code = "from doubling import double; print(double(5))"
            assert subprocess.check_output([sys.executable, "-c", code], text=True) == "10\\n"
        """)
    served.project.runpytest_subprocess("--njc-record=once").assert_outcomes(passed=1)
    served.server.seen.clear()
    served.project.runpytest_subprocess().assert_outcomes(passed=1)
    assert served.count_requests() == 0


def test_blocks_at_module_level_do_not_reach_the_network_either(served: ServedProject) -> None:
    served.write("""
        from doubling import double

        SIX = double(3)

        def test_six():
            assert SIX == 6
        """)
    served.run(errors=1)
    assert served.count_requests() == 0
    served.run("--njc-record=once", passed=1)
    assert served.list_recordings() == ["recordings/collection.jsonl"]
    served.run(passed=1)
    assert served.count_requests() == 1


def test_nothing_of_the_runtime_is_loaded_for_tests_without_blocks(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        test_it="""
        import os, sys

        def test_plain():
            loaded = {name for name in sys.modules if name.startswith("njrt")}
            assert loaded <= {"njrt", "njrt.data", "njrt.errors", "njrt.data.jumps", "njrt.data.loading", "njrt.pytest_plugin", "njrt.data.root_context", "njrt.version"}
        """
    )
    project.runpytest_subprocess().assert_outcomes(passed=1)


def test_recordings_differ_although_a_file_system_ignores_case(served: ServedProject) -> None:
    served.write("""
            import pytest
            from doubling import double

            @pytest.mark.parametrize("number", [1, 2, 3], ids=["a", "A", "\u00c4"])
            def test_numbers(number):
                assert double(number) == 2 * number

            def test_one(): assert double(4) == 8
            def test_One(): assert double(5) == 10
            class TestIt:
                def test_it(self): assert double(6) == 12
            class Testit:
                def test_it(self): assert double(7) == 14
            """)
    served.run("--njc-record=once", passed=7)
    found = served.list_recordings()
    assert len({name.lower() for name in found}) == 7
    assert "recordings/test_it/test_numbers[a].jsonl" in found
    served.run(passed=7)
    served.run("test_it.py::test_One", passed=1)
    assert served.count_requests() == 7


def test_recordings_of_older_versions_keep_their_names(served: ServedProject) -> None:
    """An older version named them without a digest, although a name had capitals."""
    served.write("""
            import pytest
            from doubling import double
            @pytest.mark.parametrize("number", [1, 2], ids=["A", "a"])
            def test_it(number): assert double(number) == 2 * number
            """)
    served.run("--njc-record=once", passed=2)
    (new,) = served.project.path.glob("recordings/test_it/*A*.jsonl")
    new.rename(new.with_name("test_it[A].jsonl"))
    served.run(passed=2)
    # As on macOS and Windows, where both tests have written into one file.
    (served.project.path / "recordings/test_it/test_it[a].jsonl").unlink()
    served.run(passed=1, failed=1)
    served.run("--njc-record=once", passed=2)
    assert len(served.list_recordings()) == 2
    served.run(passed=2)


def test_the_environment_is_put_back(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NJC_RECORD", "new:mine.jsonl")
    project.makepyfile(test_it="def test_nothing(): pass\n")
    project.runpytest_inprocess().assert_outcomes(passed=1)
    assert os.environ["NJC_RECORD"] == "new:mine.jsonl"


@pytest.mark.parametrize("how", ["flag", "environment"])
def test_off_asks_the_model_each_time(
    served: ServedProject, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    served.write(TEST)
    flags = ["--njc-record=off"] if how == "flag" else []
    if how == "environment":
        monkeypatch.setenv("NJC_RECORD", "off")
    for _ in range(2):
        served.run(*flags, passed=1)
    assert (served.count_requests(), served.list_recordings()) == (2, [])
    if how == "environment":
        assert os.environ["NJC_RECORD"] == "off"
        served.run("--njc-record=none", failed=1)


@pytest.mark.parametrize("mode", ["once", "all"])
def test_tests_that_share_a_recording_add_to_it(served: ServedProject, mode: str) -> None:
    served.write("""
            import pytest
            from doubling import double

            pytestmark = pytest.mark.njc_recording("shared.jsonl")

            @pytest.mark.parametrize("number", [1, 2, 3])
            def test_numbers(number):
                assert double(number) == 2 * number
            """)
    for asked_in_all in [3, 3 if mode == "once" else 6]:
        served.run(f"--njc-record={mode}", passed=3)
        assert served.count_requests() == asked_in_all
        _, *entries = (served.project.path / "shared.jsonl").read_text("utf-8").splitlines()
        assert len(entries) == 3
    served.run(passed=3)
    assert served.count_requests() == asked_in_all


def test_a_marker_without_a_path_changes_nothing(served: ServedProject) -> None:
    marked = TEST.replace("def test", "import pytest\n\n\n@pytest.mark.njc_recording()\ndef test")
    served.write(marked)
    served.run("--njc-record=once", passed=1)
    assert served.list_recordings() == ["recordings/test_it/test_double.jsonl"]
