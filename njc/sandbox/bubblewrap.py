"""Run a whole program in a sandbox: `njc run --sandbox --work out prog.njpy`.

    bwrap                                    the program can
      --ro-bind / /                            read files, but in home directories and /tmp only
      --tmpfs /home --tmpfs /tmp               Python, its packages and the program's folder;
      --bind out out                           write to `out` and to a private /tmp;
      --ro-bind /proc/sys /proc/sys            not change kernel settings;
      --seccomp 5                              not make the system calls in seccomp.py;
      --unshare-all                            see no other process, few variables, and no network:
      python -m njc.sandbox.forwarder SOCKET   127.0.0.1:3128 leads through SOCKET to our proxy, which
        LIMITS python -m njc run prog.njpy     connects to the model's endpoint only

A sandboxed program never runs as root: for root, it runs as the owner of the current directory, or as nobody.

bubblewrap (`bwrap`) creates the sandbox. This module builds its command line.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from njc.sandbox.forwarder import PORT
from njc.sandbox.limits import NOBODY, Limits
from njc.sandbox.proxy import Endpoint, serve_proxy
from njc.sandbox.seccomp import build_filter
from njrt.errors import ConfigurationError
from njrt.models.choose import choose_model, list_model_names
from njrt.models.model import Model
from njrt.models.remote import RemoteModel, Server
from njrt.models.wrapped import list_inner_models
from njrt.options import Options
from njrt.records import field, record, replace

_SOCKET_PATH = "/tmp/.njc/proxy"
_KEPT_VARIABLES = ("LANG", "LANGUAGE", "TERM", "TZ", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
_KEPT_PREFIXES = ("LC_", "NJC_", "PYTHON")
_VENDORS = ("OPENAI", "ANTHROPIC")
_HIDDEN_FOLDERS = ("/home", "/root", "/tmp", "/run", "/var/tmp")
_WRITABLE_FOLDERS = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@record
class Sandbox:
    """The paths that a sandboxed program may read and write, its servers, variables and limits."""

    readable: tuple[Path, ...]
    work: Path | None
    servers: tuple[Server, ...]
    environ: Mapping[str, str]
    home: Path
    here: Path
    limits: Limits = field(default_factory=Limits)

    @property
    def endpoints(self) -> frozenset[Endpoint]:
        """The hosts and ports that the program can reach."""
        return frozenset(parse_endpoint(server.url) for server in self.servers)

    def run(self, program: Sequence[str]) -> int:
        """Run `program` with a proxy; return its exit code. Raises ConfigurationError if no sandbox is possible."""
        if obstacle := find_sandbox_obstacle():
            raise ConfigurationError(obstacle)
        self.check_access()
        with (
            tempfile.TemporaryDirectory(prefix="njc-") as folder,
            serve_proxy(Path(folder) / "proxy", self.endpoints) as socket,
            ExitStack() as stack,
        ):
            command = self.build_command(socket, program)
            files = []
            if rules := build_filter(platform.machine()):
                file = stack.enter_context(tempfile.TemporaryFile())
                file.write(rules)
                file.seek(0)
                files.append(file.fileno())
                command[1:1] = ["--seccomp", str(file.fileno())]
            try:
                environ = self._build_environment()
                code = subprocess.run(command, env=environ, pass_fds=files, check=False).returncode
            except KeyboardInterrupt:
                return 128 + signal.SIGINT
        return 128 - code if code < 0 else code

    def check_access(self) -> None:
        """Raise ConfigurationError if the sandbox's user cannot access its files."""
        user = self.limits.user
        if not user:
            return
        wanted = [(path, 0o5 if path.is_dir() else 0o4, "read") for path in self.readable]
        if self.work is not None:
            wanted.append((self.work, 0o7, "write to"))
        for path, bits, verb in wanted:
            status = path.stat()
            mode = status.st_mode >> (6 if status.st_uid == user else 0)
            if mode & bits != bits:
                raise ConfigurationError(
                    f"as root, a sandbox runs as user {user}, which cannot {verb} {path}; "
                    f"run njc as another user, or change the owner: chown {user} {path}"
                )

    def build_command(self, socket: Path, program: Sequence[str]) -> list[str]:
        """Return the bubblewrap command line that runs `program` in the sandbox."""
        hidden = dict.fromkeys((*map(Path, _HIDDEN_FOLDERS), self.home))
        arguments = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        arguments += ["--ro-bind", "/proc/sys", "/proc/sys"]
        size = str(self.limits.memory * 1024 * 1024)
        for folder in (*hidden, Path("/dev/shm")):
            if folder != Path("/") and (folder.is_dir() or folder in _WRITABLE_FOLDERS):
                if folder in _WRITABLE_FOLDERS:
                    arguments += ["--perms", "1777"]
                arguments += ["--size", size, "--tmpfs", str(folder)]
        shown = [
            path
            for path in sorted(self.readable)
            if any(path.is_relative_to(folder) and path != folder for folder in hidden)
        ]
        places = [*shown, Path(_SOCKET_PATH), *([self.work] if self.work else [])]
        for parent in sorted({parent for place in places for parent in place.parents}):
            if any(parent.is_relative_to(folder) and parent != folder for folder in hidden):
                arguments += ["--perms", "0755", "--dir", str(parent)]  # bubblewrap's own have 0700
        for path in shown:
            arguments += ["--ro-bind", str(path), str(path)]
        if self.work is not None:
            arguments += ["--bind", str(self.work), str(self.work)]
        arguments += ["--bind", str(socket), _SOCKET_PATH, "--chdir", str(self.here)]
        arguments += [*_list_isolation(), "--die-with-parent", "--new-session"]
        # -P: nothing in the current directory can replace a module before the user is changed.
        forwarder = [sys.executable, "-P", "-m", "njc.sandbox.forwarder", _SOCKET_PATH]
        return ["bwrap", *arguments, "--", *forwarder, str(self.limits), *program]

    def _build_environment(self) -> dict[str, str]:
        """Return the sandbox's environment. It is inherited, because other users can read a command line."""
        proxy = f"http://127.0.0.1:{PORT}"
        names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
        return {
            "PATH": f"{Path(sys.executable).parent}:{_SYSTEM_PATH}",
            "HOME": "/tmp",
            "PYTHONDONTWRITEBYTECODE": "1",
            **self.environ,
            **dict.fromkeys(names, proxy),
        }


def parse_endpoint(url: str) -> Endpoint:
    """Return the host and port of a URL."""
    parts = urlsplit(url)
    return Endpoint(parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443))


def find_sandbox_obstacle() -> str | None:
    """Return why this machine cannot create a sandbox; None if it can."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return "bubblewrap is not installed; install it, such as with: apt-get install bubblewrap"
    attempt = [bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *_list_isolation()]
    tried = subprocess.run([*attempt, "true"], capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return None
    reason = tried.stderr.strip().partition("\n")[0] or f"exit code {tried.returncode}"
    return f"bubblewrap cannot make a sandbox here ({reason}); allow unprivileged user namespaces"


def list_servers(choices: Iterable[Options], environ: Mapping[str, str]) -> tuple[Server, ...]:
    """Return the servers of all models that these options choose, including second models.

    Options without a usable model are skipped. Models in Python have no server, and their modules are not imported.
    """
    servers: dict[Server, None] = {}
    for options in choices:
        named = list_model_names(options, environ)
        second = list_model_names(Options(model=options.second_model), {})
        for names in [named, second] if second else [named]:
            known = [name for name in names if not name.startswith("python:")]
            if names and not known:
                continue
            chosen = replace(options, model=",".join(known))
            try:
                model = choose_model(chosen, {**environ, "NJC_REPLACE_MODEL": ""})
            except ConfigurationError:
                continue
            found = (remote.server for remote in list_remote_models(model))
            servers |= dict.fromkeys(it for it in found if it.url.startswith("http"))
    return tuple(servers)


def list_remote_models(model: Model) -> tuple[RemoteModel, ...]:
    """Return the remote models in `model`, including those inside wrappers."""
    here = (model,) if isinstance(model, RemoteModel) else ()
    inner = map(list_remote_models, list_inner_models(model))
    return here + tuple(remote for remotes in inner for remote in remotes)


def select_variables(
    environ: Mapping[str, str], servers: Iterable[Server], wanted: Iterable[str]
) -> dict[str, str]:
    """Return the sandbox's variables: the usual ones, these servers' keys, and the `wanted` variables."""
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
    around = Path(sys.executable).resolve().parent.parent
    names = (sys.prefix, sys.base_prefix, sys.exec_prefix, str(around), *filter(None, sys.path))
    return tuple(dict.fromkeys(path for path in map(Path, names) if os.path.exists(path)))


def _list_isolation() -> list[str]:
    """Return the options for namespaces and capabilities; with a user namespace, root would keep its rights."""
    if os.geteuid() != 0:
        return ["--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
    namespaces = ["pid", "net", "ipc", "uts", "cgroup-try"]
    # The forwarder needs these, and loses them when it changes the user.
    kept = ["CAP_SETUID", "CAP_SETGID"]
    return [
        *(f"--unshare-{namespace}" for namespace in namespaces),
        *("--cap-drop", "ALL"),
        *(word for capability in kept for word in ("--cap-add", capability)),
    ]


def choose_user(here: Path) -> int:
    """Return the user to run as: the owner of `here` or nobody for root; 0 for any other user."""
    if os.geteuid() != 0:
        return 0
    return here.stat().st_uid or NOBODY
