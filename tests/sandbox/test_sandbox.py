"""`njc run --sandbox`: what a sandboxed program can and cannot do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from loopback import Answer, Loopback
from njc.sandbox.bubblewrap import find_sandbox_obstacle, list_remote_models, list_servers
from njrt.models.openai import OpenAI
from njrt.models.retry_and_fallback import FallbackModel, RetryModel
from njrt.models.scripted import Scripted
from njrt.models.vote import VoteModel
from njrt.options import Options
from openai_server import KEY, OpenAIServer, calls

OBSTACLE = find_sandbox_obstacle()
needs_sandbox = pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE))


def run(
    folder: Path, program: str, *flags: str, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program by `njc run FLAGS prog.njpy one two`, in `folder`."""
    folder.chmod(0o755)  # run by root, the sandbox is another user
    (folder / "prog.njpy").write_text(program, encoding="utf-8")
    foreign = ("NJC_", "OPENAI_", "ANTHROPIC_", "PYTHON")
    own = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return subprocess.run(
        [sys.executable, "-m", "njc", "run", *flags, "prog.njpy", "one", "two"],
        cwd=folder,
        env=own | dict(environ or {}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_models_inside_of_wrappers_are_found() -> None:
    first, second, third = (
        OpenAI(name, base_url="http://127.0.0.1:8000/v1") for name in ("a", "b", "c")
    )
    model = FallbackModel([RetryModel(VoteModel([first, second])), Scripted([]), third])
    assert list_remote_models(model) == (first, second, third)
    assert list_remote_models(Scripted([])) == ()


@needs_sandbox
def test_a_program_is_itself_in_there(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("data")
    (tmp_path / "helper.njpy").write_text("NAME = 'helper'\n")
    program = """
import os, sys, helper
print(sys.argv, os.getcwd(), open("data.txt").read(), helper.NAME, sys.stdin.read())
print(os.listdir("/proc/self/task") != [], os.path.exists("/etc/passwd"))
sys.exit(7)
"""
    result = run(tmp_path, program, "--sandbox")
    assert result.returncode == 7, result.stderr
    assert result.stdout.splitlines() == [
        f"['prog.njpy', 'one', 'two'] {tmp_path} data helper ",
        "True True",
    ]


@needs_sandbox
def test_it_writes_to_its_work_directory_and_nowhere_else(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    program = f"""
for place in ["out/new.txt", "/tmp/gone.txt", "here.txt", {str(outside)!r}, "prog.njpy", "/etc/x"]:
    try:
        open(place, "w").write("written")
        print("wrote", place)
    except OSError as error:
        print(error.errno, place)
"""
    result = run(tmp_path, program, "--sandbox", "--work", "out")
    assert result.stdout.splitlines() == [
        "wrote out/new.txt",
        "wrote /tmp/gone.txt",
        "30 here.txt",
        f"30 {outside}",
        "30 prog.njpy",
        "30 /etc/x",
    ]
    assert (tmp_path / "out" / "new.txt").read_text() == "written"
    assert not Path("/tmp/gone.txt").exists()


@needs_sandbox
def test_homes_and_temporary_files_are_hidden_but_for_what_is_shown(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    other.chmod(0o755)
    (other / "secret.txt").write_text("secret")
    program = f"import os; print(os.path.exists({str(other / 'secret.txt')!r}), os.environ['HOME'])"
    assert run(tmp_path, program, "--sandbox").stdout == "False /tmp\n"
    shown = run(tmp_path, program, "--sandbox", "--read", str(other))
    assert shown.stdout == "True /tmp\n"


@needs_sandbox
def test_variables_are_few(tmp_path: Path) -> None:
    program = "import os; print({name: os.environ.get(name) for name in ('SECRET', 'TOLD', 'OPENAI_API_KEY', 'NJC_MODE')})"
    environ = {"SECRET": "1", "TOLD": "2", "OPENAI_API_KEY": KEY, "NJC_MODE": "live"}
    result = run(
        tmp_path,
        program,
        "--sandbox",
        "--env",
        "TOLD",
        environ=environ | {"NJC_MODEL": "anthropic/x"},
    )
    told = {"SECRET": None, "TOLD": "2", "OPENAI_API_KEY": None, "NJC_MODE": "live"}
    assert result.stdout == f"{told}\n"


ASKING = '''
import socket, urllib.error, urllib.request

x = 21
"""natural
Bind <:y> to twice <x>.
"""
print(y)
for host, port in (("127.0.0.1", PORT), ("192.0.2.1", 80)):
    try:
        socket.create_connection((host, port), 5).close()
        print("connected")
    except OSError as error:
        print(type(error).__name__)
    try:
        urllib.request.urlopen(f"http://{host}:{port}/", timeout=5)
        print("answered")
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode().strip())
'''


@needs_sandbox
def test_the_model_is_reached_and_nothing_else_of_the_network(tmp_path: Path) -> None:
    answer = calls(("run", '{"code": "y = 2 * x", "done": true}'))
    with OpenAIServer([answer]) as server, Loopback([Answer({})]) as other:
        port = other.url.rpartition(":")[2]
        result = run(
            tmp_path,
            ASKING.replace("PORT", port),
            "--sandbox",
            environ={
                "NJC_MODEL": "openai/gpt-4.1",
                "OPENAI_API_KEY": KEY,
                "OPENAI_BASE_URL": server.base_url,
            },
        )
        assert (len(server.seen), other.seen) == (1, []), result.stderr
    endpoint = server_address(server)
    assert result.stdout.splitlines() == [
        "42",
        "ConnectionRefusedError",
        f"403 the sandbox allows connections to {endpoint}, not to 127.0.0.1:{port}",
        "OSError",
        f"403 the sandbox allows connections to {endpoint}, not to 192.0.2.1:80",
    ], result.stderr


def server_address(server: OpenAIServer) -> str:
    return server.url.removeprefix("http://")


@needs_sandbox
def test_a_model_that_only_a_block_names_is_reached_too(tmp_path: Path) -> None:
    answer = calls(("run", '{"code": "y = 1", "done": true}'))
    with OpenAIServer([answer]) as server:
        program = '"""natural(model="openai/gpt-4.1")\nSet <:y> to 1.\n"""\nprint(y)\n'
        environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.base_url}
        result = run(tmp_path, program, "--sandbox", environ=environ)
    assert (result.stdout, result.returncode) == ("1\n", 0), result.stderr


def test_the_servers_of_models_are_found_without_code_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil_model.py").write_text("raise SystemExit('imported outside of the sandbox')")
    monkeypatch.syspath_prepend(str(tmp_path))
    own = {"base_url": "http://127.0.0.1:9/v1"}
    choices = [
        Options(model="python:evil_model:m"),
        Options(model="openai/a,python:evil_model:m", second_model="python:evil_model:m"),
        Options(model="python:evil_model:m", second_model="anthropic/b"),
        Options(model="unknown"),
        Options(model="openai/own", **own),
    ]
    keys = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    for environ in (keys, keys | {"NJC_REPLACE_MODEL": "unknown=python:evil_model:m"}):
        urls = [server.url for server in list_servers(choices, environ)]
        assert urls == ["https://api.openai.com/v1", "https://api.anthropic.com", own["base_url"]]


@needs_sandbox
def test_errors_look_as_they_do_outside(tmp_path: Path) -> None:
    outside = run(tmp_path, "1 / 0")
    inside = run(tmp_path, "1 / 0", "--sandbox")
    assert (inside.returncode, inside.stderr) == (outside.returncode, outside.stderr)
    broken = run(tmp_path, "x = 1\n'''natural\nDouble <z>.\n'''\n", "--sandbox")
    assert broken.returncode == 1
    assert "NJ201" in broken.stderr


@needs_sandbox
def test_no_other_process_is_seen(tmp_path: Path) -> None:
    program = (
        f"import os; print(os.path.exists('/proc/{os.getpid()}/environ') and os.getpid() > 50)"
    )
    assert run(tmp_path, program, "--sandbox").stdout == "False\n"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--work", "out"], "--work works only with --sandbox; add --sandbox"),
        (["--env", "HOME"], "--env works only with --sandbox; add --sandbox"),
        (["--sandbox", "--env", "NO_SUCH"], "--env names `NO_SUCH`, which is not set"),
    ],
)
def test_wrong_usage(tmp_path: Path, flags: list[str], message: str) -> None:
    result = run(tmp_path, "print('ran')", *flags)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (None, "bubblewrap is not installed; install it, such as with: apt-get install bubblewrap"),
        (
            "#!/bin/sh\necho 'bwrap: no permission' >&2\nexit 1\n",
            "bubblewrap cannot make a sandbox here (bwrap: no permission); allow unprivileged user",
        ),
    ],
)
def test_without_a_usable_bubblewrap_nothing_is_run(
    tmp_path: Path, script: str | None, message: str
) -> None:
    (tmp_path / "bin").mkdir()
    if script is not None:
        (tmp_path / "bin" / "bwrap").write_text(script)
        (tmp_path / "bin" / "bwrap").chmod(0o755)
    result = run(tmp_path, "print('ran')", "--sandbox", environ={"PATH": str(tmp_path / "bin")})
    assert (result.returncode, result.stdout) == (2, "")
    assert f"error: {message}" in result.stderr
