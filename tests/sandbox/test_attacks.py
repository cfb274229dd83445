"""Attacks from inside the sandbox, run as root and as a user: each must fail, or show nothing.

Each line of the program prints a name and `stopped`, or what it reached.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from njc.sandbox.bubblewrap import find_sandbox_obstacle
from njc.sandbox.limits import Limits, parse_limits
from njc.sandbox.seccomp import build_filter

OBSTACLE = find_sandbox_obstacle()
NOBODY = 65534

PROGRAM = """
import ctypes, errno, os, resource, socket, subprocess, sys

libc = ctypes.CDLL(None, use_errno=True)

def attack(name, action):
    try:
        found = action()
    except OSError as error:
        print(name, "stopped", errno.errorcode[error.errno])
    except (MemoryError, subprocess.CalledProcessError) as error:
        print(name, "stopped", type(error).__name__)
    else:
        print(name, "REACHED", found)

def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)

def system_call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), str(number))

def write(path, text):
    with open(path, "w") as file:
        file.write(text)

def chmod(mode):
    write("/tmp/file", "x")
    os.chmod("/tmp/file", mode)

def spawn(*command):
    return subprocess.run(command, check=True, capture_output=True).stdout

def fork_many():
    children = []
    try:
        for _ in range(400):
            if (child := os.fork()) == 0:
                import time
                time.sleep(20)
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)

def burn():
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
        while True:
            pass
    os.waitpid(child, 0)
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard != resource.RLIM_INFINITY:
        raise MemoryError
    return hard

attack("root", lambda: os.setuid(0))
attack("root by real id", lambda: os.setresuid(0, 0, 0))
attack("groups", lambda: os.setgroups([0]))
attack("shadow", lambda: open("/etc/shadow").read(9))
attack("gshadow", lambda: open("/etc/gshadow").read(9))
attack("sudoers", lambda: open("/etc/sudoers").read(9))
attack("core pattern", lambda: write("/proc/sys/kernel/core_pattern", "|/tmp/x"))
attack("hostname setting", lambda: write("/proc/sys/kernel/hostname", "x"))
attack("modprobe", lambda: write("/proc/sys/kernel/modprobe", "/tmp/x"))
attack("user namespaces setting", lambda: write("/proc/sys/user/max_user_namespaces", "99"))
attack("sysrq", lambda: write("/proc/sysrq-trigger", "h"))
attack("sys", lambda: write("/sys/kernel/uevent_helper", "/tmp/x"))
attack("release agent", lambda: write("/sys/fs/cgroup/release_agent", "/tmp/x"))
attack("kernel memory", lambda: open("/proc/kcore", "rb").read(9))
attack("memory device", lambda: open("/dev/mem", "rb").read(9))
attack("kernel log", lambda: open("/proc/kmsg").read(9))
attack("disk", lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(8, 0)))
attack("user namespace", lambda: call("unshare", 0x10000000))
attack("mount namespace", lambda: call("unshare", 0x00020000))
attack("network namespace", lambda: call("unshare", 0x40000000))
attack("user namespace by a program", lambda: spawn("unshare", "-U", "true"))
attack("join a namespace", lambda: call("setns", os.open("/proc/1/ns/mnt", os.O_RDONLY), 0))
attack("clone of a namespace", lambda: system_call(CLONE, 0x10000000 | 17, 0, 0, 0, 0))
attack("clone3", lambda: system_call(435, 0, 0))
attack("mount", lambda: call("mount", b"none", b"/tmp", b"tmpfs", 0, None))
attack("remount", lambda: call("mount", b"none", b"/", None, 0x20 | 0x1000, None))
attack("unmount", lambda: call("umount2", b"/home", 2))
attack("chroot", lambda: os.chroot("/tmp"))
attack("trace", lambda: call("ptrace", 16, 1, 0, 0))
attack("key ring", lambda: system_call(KEYCTL, 0, -3, 0))
attack("bpf", lambda: system_call(BPF, 0, 0, 0))
attack("performance counters", lambda: system_call(PERF, 0, 0, -1, -1, 0))
attack("io_uring", lambda: system_call(425, 1, 0))
attack("user faults", lambda: system_call(USERFAULTFD, 1))
attack("clock", lambda: __import__("time").clock_settime(0, 0))
attack("raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attack("packet socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attack("machine socket", lambda: socket.socket(40, socket.SOCK_STREAM))
attack("cipher socket", lambda: socket.socket(38, 5))
attack("network", lambda: socket.create_connection(("192.0.2.1", 80), 2))
attack("setuid file", lambda: chmod(0o4755))
attack("setgid file", lambda: chmod(0o2755))
attack("setuid file when opened", lambda: os.open("/tmp/new", os.O_CREAT | os.O_WRONLY, 0o4755))
attack("setuid program", lambda: spawn("su", "-c", "true"))
attack("file beside the folder", lambda: open(os.getcwd() + "-secret").read())
attack("run", lambda: os.listdir("/run")[0] if os.listdir("/run") else os.stat("/run/none"))
attack("docker", lambda: os.stat("/var/run/docker.sock"))
attack("file of the program", lambda: write("prog.njpy", "x"))
attack("file of the system", lambda: write("/usr/bin/x", "x"))
attack("library", lambda: write(os.path.join(os.path.dirname(os.__file__), "x.py"), "x"))
attack("signal to the parent", lambda: os.kill(os.getppid(), 0) if os.getppid() > 9 else os.kill(99999, 0))
attack("memory", lambda: bytearray(3 << 30))
attack("processes", fork_many)
attack("processor time", burn)
print("secret", os.environ.get("ATTACK_SECRET"), "user", os.getuid())
"""

_NUMBERS = {
    "x86_64": {"CLONE": 56, "KEYCTL": 250, "BPF": 321, "PERF": 298, "USERFAULTFD": 323},
    "aarch64": {"CLONE": 220, "KEYCTL": 219, "BPF": 280, "PERF": 241, "USERFAULTFD": 282},
}


@cache
def find_interpreter(user: int) -> str | None:
    """Return a Python that this user can run, with our packages; None if there is none."""
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            done = subprocess.run(
                [python, "-c", "import click, njc, njrt"],
                env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "HOME": "/nonexistent"},
                capture_output=True,
                timeout=60,
                user=user,
                group=user,
                extra_groups=[],
                cwd="/",
            )
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return None


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder that every user can read: those of pytest are private."""
    with tempfile.TemporaryDirectory(prefix="njc-attack-") as path:
        os.chmod(path, 0o755)
        yield Path(path)


def run_attacks(folder: Path, user: int | None) -> subprocess.CompletedProcess[str]:
    numbers = _NUMBERS.get(platform.machine(), _NUMBERS["x86_64"])
    head = "".join(f"{name} = {number}\n" for name, number in numbers.items())
    (folder / "prog.njpy").write_text(head + PROGRAM)
    secret = folder.with_name(f"{folder.name}-secret")
    secret.write_text("secret")
    flags = ["--sandbox", "--max-memory", "2048", "--max-processes", "64", "--max-cpu", "60"]
    python, identity, environ = sys.executable, {}, dict(os.environ, ATTACK_SECRET="secret")
    if user is not None:
        found = find_interpreter(user)
        if found is None:
            pytest.skip("no Python here that another user can run")
        python, identity = found, {"user": user, "group": user, "extra_groups": []}
        environ |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "HOME": "/nonexistent"}
    result = subprocess.run(
        [python, "-m", "njc", "run", *flags, "prog.njpy"],
        cwd=folder,
        env={name: value for name, value in environ.items() if not name.startswith("NJC_")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **identity,  # type: ignore[call-overload]
    )
    secret.unlink()
    return result


@pytest.mark.skipif(OBSTACLE is not None, reason=str(OBSTACLE))
@pytest.mark.parametrize("user", [None, NOBODY], ids=["this user", "nobody"])
def test_attacks_are_stopped(folder: Path, user: int | None) -> None:
    if user is not None and os.geteuid() != 0:
        pytest.skip("only root can run it as another user")
    result = run_attacks(folder, user)
    lines = result.stdout.splitlines()
    assert [line for line in lines if "REACHED" in line] == []
    assert len(lines) == PROGRAM.count("\nattack(") + 1, result.stderr
    assert lines[-1].startswith("secret None user ")
    assert not lines[-1].endswith(" 0")


@pytest.mark.skipif(OBSTACLE is not None or os.geteuid() != 0, reason="only for root")
def test_what_the_other_user_cannot_read_is_an_error(folder: Path) -> None:
    folder.chmod(0o700)
    result = run_attacks(folder, None)
    assert (result.returncode, result.stdout) == (2, "")
    assert f"runs as user {NOBODY}, which cannot read {folder}" in result.stderr
    assert "chown" in result.stderr


def test_filters_are_made_for_known_machines() -> None:
    for machine in ("x86_64", "aarch64"):
        rules = build_filter(machine)
        assert rules is not None
        assert len(rules) % 8 == 0
        assert len(rules) // 8 < 4096
    assert build_filter("riscv64") is None


def test_limits_are_written_and_read() -> None:
    limits = Limits(memory=1, processes=2, cpu_seconds=3, user=4)
    assert parse_limits(str(limits)) == limits
