"""Running a whole program in a sandbox: `njc run --sandbox --work out prog.njpy`.

    bwrap                                    the program can
      --ro-bind / /                            read files, except in the home directory and /tmp, but
      --tmpfs /home/anna --tmpfs /tmp          there Python, its packages and the program's folder;
      --bind out out                           write to `out` and to a private /tmp;
      --unshare-all                            see no other process, few variables, and no network:
      python -m njc.sandbox.forwarder SOCKET   127.0.0.1:3128 leads through SOCKET to our proxy, which
        python -m njc run prog.njpy            connects to the model's endpoint only

bubblewrap (`bwrap`) makes the sandbox. This module writes its command line.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from njc.sandbox.forwarder import PORT
from njc.sandbox.proxy import Endpoint, serve_proxy
from njrt.errors import ConfigurationError
from njrt.models.choose import choose_model
from njrt.models.fallback import FallbackModel
from njrt.models.model import Model
from njrt.models.remote import RemoteModel, Server
from njrt.options import Options

_SOCKET_PATH = "/tmp/.njc/proxy"
_KEPT_VARIABLES = ("LANG", "LANGUAGE", "TERM", "TZ", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
_KEPT_PREFIXES = ("LC_", "NJC_", "PYTHON")
_VENDORS = ("OPENAI", "ANTHROPIC")
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What a sandboxed program may read, write, connect to and see."""

    readable: tuple[Path, ...]
    work: Path | None
    servers: tuple[Server, ...]
    environ: Mapping[str, str]
    home: Path
    here: Path

    @property
    def endpoints(self) -> frozenset[Endpoint]:
        """The hosts and ports that the program can reach."""
        return frozenset(parse_endpoint(server.url) for server in self.servers)


def parse_endpoint(url: str) -> Endpoint:
    """Return the host and port of a URL."""
    parts = urlsplit(url)
    return Endpoint(parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443))


def find_sandbox_obstacle() -> str | None:
    """Return why this machine cannot make a sandbox, or None if it can."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return "bubblewrap is not installed; install it, such as with: apt-get install bubblewrap"
    attempt = [bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all"]
    tried = subprocess.run([*attempt, "true"], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return None
    reason = tried.stderr.strip().partition("\n")[0] or f"exit code {tried.returncode}"
    return f"bubblewrap cannot make a sandbox here ({reason}); allow unprivileged user namespaces"


def list_servers(choices: Iterable[Options], environ: Mapping[str, str]) -> tuple[Server, ...]:
    """Return the servers of all models that these options choose; options without a model are skipped."""
    servers: dict[Server, None] = {}
    for options in choices:
        try:
            model = choose_model(options, environ)
        except ConfigurationError:
            continue
        servers |= {remote.server: None for remote in list_remote_models(model)}
    return tuple(servers)


def list_remote_models(model: Model) -> tuple[RemoteModel, ...]:
    """Return the remote models that `model` consists of."""
    models = model.models if isinstance(model, FallbackModel) else (model,)
    return tuple(part for part in models if isinstance(part, RemoteModel))


def select_variables(
    environ: Mapping[str, str], servers: Iterable[Server], wanted: Iterable[str]
) -> dict[str, str]:
    """Return the variables for the sandbox: the usual ones, the keys of these servers, and the `wanted`."""
    unknown = [name for name in wanted if name not in environ]
    if unknown:
        raise ConfigurationError(
            f"--env names `{unknown[0]}`, which is not set; set it or leave it out"
        )
    vendors = {server.key_variable.removesuffix("_API_KEY") for server in servers}
    kept = tuple(f"{vendor}_" for vendor in vendors if vendor in _VENDORS) + _KEPT_PREFIXES
    return {
        name: value
        for name, value in environ.items()
        if name in _KEPT_VARIABLES or name.startswith(kept) or name in wanted
    }


def list_python_paths() -> tuple[Path, ...]:
    """Return the folders that Python reads: its installation and its packages."""
    prefixes = [
        sys.prefix,
        sys.base_prefix,
        sys.exec_prefix,
        str(Path(sys.executable).resolve().parent.parent),
    ]
    paths = [*prefixes, *(entry for entry in sys.path if entry)]
    return tuple(dict.fromkeys(path for path in map(Path, paths) if path.exists()))


def build_bwrap_command(sandbox: Sandbox, socket: Path, program: Sequence[str]) -> list[str]:
    """Return the command line of bubblewrap that runs `program` in the sandbox."""
    hidden = dict.fromkeys((sandbox.home, Path("/tmp"), Path("/run"), Path("/var/tmp")))
    arguments = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for folder in hidden:
        if folder != Path("/") and folder.is_dir():
            arguments += ["--tmpfs", str(folder)]
    for path in sorted(sandbox.readable):
        if any(path.is_relative_to(folder) and path != folder for folder in hidden):
            arguments += ["--ro-bind", str(path), str(path)]
    if sandbox.work is not None:
        arguments += ["--bind", str(sandbox.work), str(sandbox.work)]
    arguments += ["--bind", str(socket), _SOCKET_PATH, "--chdir", str(sandbox.here)]
    arguments += ["--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--new-session"]
    return [
        "bwrap",
        *arguments,
        "--",
        sys.executable,
        "-m",
        "njc.sandbox.forwarder",
        _SOCKET_PATH,
        *program,
    ]


def _build_environment(sandbox: Sandbox) -> dict[str, str]:
    """Return the environment of the sandbox. It is inherited: other users can read a command line."""
    proxy = f"http://127.0.0.1:{PORT}"
    names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    return {
        "PATH": f"{Path(sys.executable).parent}:{_SYSTEM_PATH}",
        "HOME": "/tmp",
        "PYTHONDONTWRITEBYTECODE": "1",
        **sandbox.environ,
        **dict.fromkeys(names, proxy),
    }


def run_sandboxed(sandbox: Sandbox, program: Sequence[str]) -> int:
    """Run `program` in the sandbox, start the proxy, and return the exit code.

    Raises ConfigurationError if this machine cannot make a sandbox.
    """
    if obstacle := find_sandbox_obstacle():
        raise ConfigurationError(obstacle)
    with (
        tempfile.TemporaryDirectory(prefix="njc-") as folder,
        serve_proxy(Path(folder) / "proxy", sandbox.endpoints) as socket,
    ):
        command = build_bwrap_command(sandbox, socket, program)
        try:
            code = subprocess.run(command, env=_build_environment(sandbox), check=False).returncode
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
    return 128 - code if code < 0 else code
