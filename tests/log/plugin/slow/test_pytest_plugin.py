"""The pytest plugin, on projects of its own: offline unless recording is asked for, one recording a test."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from openai_server import KEY, OpenAIServer, says

pytest.importorskip("openai")  # also for the projects, which else import it each anew

CODE = "```python\nanswer = 2 * number\n```"
TEST = """
from doubling import double

def test_double():
    assert double(21) == 42
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """Yield a model's server that the environment names, as a developer's shell would."""
    with OpenAIServer([says(CODE)] * 20, vendor=False) as server:
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
        monkeypatch.setenv("NJC_API_KEY", KEY)
        monkeypatch.setenv("NJC_MODEL", "gpt-4.1")
        yield server


def asked(server: OpenAIServer) -> int:
    return sum(seen.method == "POST" for seen in server.seen)


def recordings(project: pytest.Pytester) -> list[str]:
    return sorted(
        file.relative_to(project.path).as_posix() for file in project.path.rglob("*.jsonl")
    )


def test_a_test_records_once_and_then_replays_offline(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    project.makepyfile(test_it=TEST)
    project.runpytest_inprocess("--njc-record=once").assert_outcomes(passed=1)
    assert (asked(server), recordings(project)) == (1, ["recordings/test_it/test_double.jsonl"])
    project.runpytest_inprocess().assert_outcomes(passed=1)
    project.runpytest_inprocess("--njc-record=once").assert_outcomes(passed=1)
    assert asked(server) == 1


def test_without_a_recording_a_test_fails_with_one_message_and_asks_nobody(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    project.makepyfile(test_it=TEST)
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "doubling.njpy:2: there is no recording recordings/test_it/test_double.jsonl; record one "
            "with: pytest --njc-record=once 'test_it.py::test_double'"
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert "def test_double" not in result.stdout.str()
    assert (asked(server), recordings(project)) == (0, [])


def test_a_recording_that_does_not_fit_shows_the_first_difference(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    project.makepyfile(test_it=TEST)
    project.runpytest_inprocess("--njc-record=once").assert_outcomes(passed=1)
    project.makepyfile(test_it=TEST.replace("(21) == 42", "(4) == 8"))
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "doubling.njpy:2: the program differs from the recording*",
            "*recorded: *21",
            "*now: *4",
            "in recordings/test_it/test_double.jsonl; record the difference with --njc-record=new, "
            "or everything again with --njc-record=all",
        ]
    )
    project.runpytest_inprocess("--njc-record=new").assert_outcomes(passed=1)
    project.runpytest_inprocess().assert_outcomes(passed=1)
    assert asked(server) == 2


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


def test_each_test_has_a_recording_of_its_own(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    project.makepyfile(
        test_many="""
            import os
            import pytest
            from doubling import double

            @pytest.mark.parametrize("number", [1, 2], ids=["one", "a/b: two"])
            def test_numbers(number, njc_recording):
                assert double(number) == 2 * number
                assert njc_recording.parent.name == "test_many"

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
            """
    )
    project.runpytest_inprocess("--njc-record=once").assert_outcomes(passed=4)
    found = recordings(project)
    assert [name for name in found if "two" not in name] == [
        "recordings/test_many/TestMore.test_it-fc3db2a6.jsonl",
        "recordings/test_many/test_numbers[one].jsonl",
        "shared/eight.jsonl",
    ]
    assert any(name.startswith("recordings/test_many/test_numbers[a-b--two]-") for name in found)
    project.runpytest_inprocess("-p", "no:randomly").assert_outcomes(passed=4)
    assert asked(server) == 4


def test_the_setting_chooses_the_mode_and_the_flag_overrides_it(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    project.makeini("[pytest]\naddopts = -p no:njrt -p njrt.pytest_plugin\nnjc_record = once\n")
    project.makepyfile(test_it=TEST)
    project.runpytest_inprocess("--njc-record=none").assert_outcomes(failed=1)
    project.runpytest_inprocess().assert_outcomes(passed=1)
    assert asked(server) == 1
    project.runpytest_inprocess("--njc-record=all").assert_outcomes(passed=1)
    assert asked(server) == 2


def test_a_wrong_setting_is_a_usage_error(project: pytest.Pytester) -> None:
    project.makeini(
        "[pytest]\naddopts = -p no:njrt -p njrt.pytest_plugin\nnjc_record = sometimes\n"
    )
    result = project.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*njc_record must be one of none, once, new, all, off, not 'sometimes'"]
    )


def test_a_test_that_runs_twice_in_one_process_hears_the_same(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    server.script[:] = [says("```python\nanswer = 1\n```"), says("```python\nanswer = 2\n```")]
    project.makepyfile(
        test_it="""
        from doubling import double

        def test_double():
            assert [double(0), double(0)] == [1, 2]
        """
    )
    project.runpytest_inprocess("--njc-record=once").assert_outcomes(passed=1)
    project.runpytest_inprocess("test_it.py", "--keep-duplicates", "test_it.py").assert_outcomes(
        passed=2
    )


def test_programs_that_a_test_starts_replay_too(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    project.makepyfile(
        test_it="""
        import subprocess, sys

        def test_program():
            code = "from doubling import double; print(double(5))"
            assert subprocess.check_output([sys.executable, "-c", code], text=True) == "10\\n"
        """
    )
    project.runpytest_subprocess("--njc-record=once").assert_outcomes(passed=1)
    server.seen.clear()
    project.runpytest_subprocess().assert_outcomes(passed=1)
    assert asked(server) == 0


def test_blocks_at_module_level_do_not_reach_the_network_either(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    project.makepyfile(
        test_it="from doubling import double\nSIX = double(3)\ndef test_six(): assert SIX == 6\n"
    )
    result = project.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    assert asked(server) == 0
    project.runpytest_inprocess("--njc-record=once").assert_outcomes(passed=1)
    assert recordings(project) == ["recordings/collection.jsonl"]
    project.runpytest_inprocess().assert_outcomes(passed=1)
    assert asked(server) == 1


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


def test_recordings_differ_although_a_file_system_ignores_case(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    project.makepyfile(
        test_case="""
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
            """
    )
    project.runpytest_inprocess("--njc-record=once").assert_outcomes(passed=7)
    found = recordings(project)
    assert len({name.lower() for name in found}) == 7
    assert "recordings/test_case/test_numbers[a].jsonl" in found
    project.runpytest_inprocess().assert_outcomes(passed=7)
    project.runpytest_inprocess("test_case.py::test_One").assert_outcomes(passed=1)
    assert asked(server) == 7


def test_recordings_of_older_versions_keep_their_names(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    """An older version named them without a digest, although a name had capitals."""
    project.makepyfile(
        test_it="""
            import pytest
            from doubling import double
            @pytest.mark.parametrize("number", [1, 2], ids=["A", "a"])
            def test_it(number): assert double(number) == 2 * number
            """
    )
    project.runpytest_inprocess("--njc-record=once").assert_outcomes(passed=2)
    (new,) = project.path.glob("recordings/test_it/*A*.jsonl")
    new.rename(new.with_name("test_it[A].jsonl"))
    project.runpytest_inprocess().assert_outcomes(passed=2)
    # As on macOS and Windows, where both tests have written into one file.
    (project.path / "recordings/test_it/test_it[a].jsonl").unlink()
    project.runpytest_inprocess().assert_outcomes(passed=1, failed=1)
    project.runpytest_inprocess("--njc-record=once").assert_outcomes(passed=2)
    assert len(recordings(project)) == 2
    project.runpytest_inprocess().assert_outcomes(passed=2)


def test_the_environment_is_put_back(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NJC_RECORD", "new:mine.jsonl")
    project.makepyfile(test_it="def test_nothing(): pass\n")
    project.runpytest_inprocess().assert_outcomes(passed=1)
    assert os.environ["NJC_RECORD"] == "new:mine.jsonl"


def test_a_recording_is_text_that_can_be_reviewed(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    project.makepyfile(test_it=TEST)
    project.runpytest_inprocess("--njc-record=once").assert_outcomes(passed=1)
    header, entry = (project.path / recordings(project)[0]).read_text("utf-8").splitlines()
    assert json.loads(header)["format"] == 1
    assert json.loads(entry)["place"] == "doubling.njpy:2"


@pytest.mark.parametrize("how", ["flag", "environment"])
def test_off_asks_the_model_each_time(
    project: pytest.Pytester, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    project.makepyfile(test_it=TEST)
    flags = ["--njc-record=off"] if how == "flag" else []
    if how == "environment":
        monkeypatch.setenv("NJC_RECORD", "off")
    for _ in range(2):
        project.runpytest_inprocess(*flags).assert_outcomes(passed=1)
    assert (asked(server), recordings(project)) == (2, [])
    if how == "environment":
        assert os.environ["NJC_RECORD"] == "off"
        project.runpytest_inprocess("--njc-record=none").assert_outcomes(failed=1)


@pytest.mark.parametrize("mode", ["once", "all"])
def test_tests_that_share_a_recording_add_to_it(
    project: pytest.Pytester, server: OpenAIServer, mode: str
) -> None:
    project.makepyfile(
        test_shared="""
            import pytest
            from doubling import double

            pytestmark = pytest.mark.njc_recording("shared.jsonl")

            @pytest.mark.parametrize("number", [1, 2, 3])
            def test_numbers(number):
                assert double(number) == 2 * number
            """
    )
    for asked_in_all in [3, 3 if mode == "once" else 6]:
        project.runpytest_inprocess(f"--njc-record={mode}").assert_outcomes(passed=3)
        assert asked(server) == asked_in_all
        _, *entries = (project.path / "shared.jsonl").read_text("utf-8").splitlines()
        assert len(entries) == 3
    project.runpytest_inprocess().assert_outcomes(passed=3)
    assert asked(server) == asked_in_all


def test_a_marker_without_a_path_changes_nothing(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    marked = TEST.replace("def test", "import pytest\n\n\n@pytest.mark.njc_recording()\ndef test")
    project.makepyfile(test_it=marked)
    project.runpytest_inprocess("--njc-record=once").assert_outcomes(passed=1)
    assert recordings(project) == ["recordings/test_it/test_double.jsonl"]
