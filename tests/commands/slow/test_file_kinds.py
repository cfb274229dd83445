"""`njc` on what file systems hold beside plain files: packages, links, FIFOs, leftovers, full disks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from workplace import GREETING, Workplace

PACKAGE = {
    "src/shop/__init__.py": "from shop.names import NAME\n",
    "src/shop/names.py": 'NAME = "shop"\n"""natural\nThis is a string.\n"""\n',
    "src/shop/mail.njpy": "from .deep.inner import VALUE\n" + GREETING,
    "src/shop/deep/__init__.py": "",
    "src/shop/deep/inner.py": "# -*- coding: latin-1 -*-\nVALUE = 1\n",
    "src/loose/tool.py": "",
    "src/loose/prog.njpy": GREETING,
    "src/setup.py": "",
}
COPIES = ["out/shop/__init__.py", "out/shop/deep/__init__.py", "out/shop/deep/inner.py"]
IMPORT = "import shop.mail; print(shop.mail.VALUE, shop.NAME, shop.mail.__file__)"


# ── Packages of .py and .njpy ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", ["out", "out:src"])
def test_a_package_of_both_kinds_is_imported_from_the_output(here: Workplace, path: str) -> None:
    here.write(PACKAGE)
    assert "2 files compiled, 4 files copied" in here.njc("build", "src", "-o", "out").stderr
    assert here.files("out") == sorted(
        [*COPIES, "out/loose/prog.py", "out/shop/mail.py", "out/shop/names.py"]
    )
    imported = here.python("-c", IMPORT, environ={"PYTHONPATH": path})
    assert imported.stdout == f"1 shop {here.folder}/out/shop/mail.py\n", imported.stderr


def test_a_folder_in_a_package_needs_no_init_of_its_own(here: Workplace) -> None:
    here.write({**PACKAGE, "src/shop/raw/plain.py": "X = 1\n"})
    here.write({"src/shop/raw/more/a.njpy": "from shop.raw.plain import X\nprint(X)\n"})
    here.njc("build", "src/shop/raw/more/a.njpy", "-o", "alone")
    assert here.files("alone") == ["alone/a.py"]
    here.write({"pyproject.toml": '[tool.njc]\nsrc = "src"\nout = "out"\n'})
    here.njc("build", "src/shop/raw")
    assert {*COPIES, "out/shop/raw/plain.py", "out/shop/raw/more/a.py"} <= set(here.files("out"))
    imported = here.python(
        "-c", "import shop.raw.more.a", environ={"PYTHONPATH": f"out{os.pathsep}src"}
    )
    assert imported.stdout == "1\n", imported.stderr


def test_copies_are_built_like_compiled_files(here: Workplace) -> None:
    here.write(PACKAGE)
    here.njc("build", "src", "-o", "out")
    assert "6 up to date" in here.njc("build", "src", "-o", "out").stderr
    assert here.njc("show", "--line", "out/shop/names.py:3").stdout == "shop/names.py:1\n"
    here.write({"src/shop/names.py": 'NAME = "other"\n'})
    here.njc("build", "src", "-o", "out", "--check", code=1)
    assert "1 file copied, 5 up to date" in here.njc("build", "src", "-o", "out").stderr
    (here.folder / "src/shop/deep/inner.py").unlink()
    assert "stale: out/shop/deep/inner.py" in here.njc("build", "src", "-o", "out").stderr
    here.njc("build", "--clean", "src", "-o", "out")
    assert "out/shop/deep/inner.py" not in here.files("out")
    here.write({"out/shop/names.py": "mine = 1\n"})
    refused = here.njc("build", "src", "-o", "out", code=2)
    assert here.read("out/shop/names.py") == "mine = 1\n"
    assert "was not written by njc" in refused.stderr


def test_python_finds_the_other_modules_of_a_namespace_package_in_the_sources(
    here: Workplace,
) -> None:
    here.write(
        {"src/acme/mail.njpy": f"import acme.names\n{GREETING}", "src/acme/names.py": "ALL = ()\n"}
    )
    here.njc("build", "src", "-o", "out")
    assert here.files("out") == ["out/acme/mail.py"]
    words = ("-c", "import acme.mail, acme.names; print(acme.names.__file__)")
    found = here.python(*words, environ={"PYTHONPATH": "out:src"})
    assert Path(found.stdout.strip()) == here.folder / "src/acme/names.py", found.stderr


def test_compiled_files_and_excluded_files_are_not_copied(here: Workplace) -> None:
    here.write(PACKAGE)
    here.njc("build", "src")
    here.write({"pyproject.toml": '[tool.njc]\nexclude = ["deep", "loose"]\n'})
    here.njc("build", "src", "-o", "src/shop/out")
    assert here.files("src/shop/out") == [
        f"src/shop/out/shop/{name}.py" for name in ("__init__", "mail", "names")
    ]
    assert "3 up to date" in here.njc("build", "src", "-o", "src/shop/out").stderr


# ── Links ────────────────────────────────────────────────────────────────────────────────────────


def test_linked_directories_are_sources_too(here: Workplace) -> None:
    here.write({"src/a.njpy": GREETING, "far/b.njpy": GREETING})
    (here.folder / "src/linked").symlink_to(here.folder / "far")
    here.njc("build", "src", "-o", "out")
    assert here.files("out") == ["out/a.py", "out/linked/b.py"]


@pytest.mark.parametrize("target", ["nowhere.njpy", "gone/b.njpy", "b.njpy", "/proc/none/b.njpy"])
def test_a_broken_link_is_skipped_and_named(here: Workplace, target: str) -> None:
    here.write({"src/shop/__init__.py": "", "src/shop/a.njpy": GREETING})
    for link in ("b.njpy", "c.py"):
        (here.folder / "src/shop" / link).symlink_to(target)
    result = here.njc("build", "src", "-o", "out")
    assert "skipped src/shop/b.njpy: it is a link to a file that does not exist" in result.stderr
    assert here.files("out") == ["out/shop/__init__.py", "out/shop/a.py"]
    assert "skipped src/shop/b.njpy" in here.njc("check", "src").stderr
    (here.folder / "src/shop/a.njpy").unlink()
    assert "nothing is left to compile" in here.njc("build", "src", "-o", "out", code=2).stderr


def test_the_compiled_file_of_a_broken_link_is_stale(here: Workplace) -> None:
    here.write({"src/a.njpy": GREETING, "far/b.njpy": GREETING})
    (here.folder / "src/b.njpy").symlink_to(here.folder / "far/b.njpy")
    here.njc("build", "src", "-o", "out")
    (here.folder / "far/b.njpy").unlink()
    assert "stale: out/b.py" in here.njc("build", "src", "-o", "out", "--check", code=1).stderr


def test_links_in_a_circle_end(here: Workplace) -> None:
    here.write({"src/one/a.njpy": GREETING, "src/two/b.njpy": GREETING})
    for link, target in [
        ("src/one/up", "src"),
        ("src/one/other", "src/two"),
        ("src/two/other", "src/one"),
        ("src/itself", "src/itself"),
        ("src/away", "src/back"),
        ("src/back", "src/away"),
    ]:
        (here.folder / link).symlink_to(here.folder / target)
    here.njc("build", "src", "-o", "out")
    assert {"out/one/a.py", "out/two/b.py", "out/one/other/b.py"} <= set(here.files("out"))


def test_a_path_that_leads_out_of_a_link_means_what_the_system_opens(here: Workplace) -> None:
    here.write({"real/src/a.njpy": GREETING, "real/pkg/b.njpy": GREETING, "src/wrong.njpy": "def"})
    (here.folder / "link").symlink_to(here.folder / "real/pkg")
    here.njc("check", "link/../src")
    here.njc("build", "link/../src", "link/../src/a.njpy", "-o", "link/../out")
    here.njc("build", "link/../pkg/b.njpy")
    found = [file for file in here.files() if file.endswith(".py")]
    assert found == ["real/out/a.py", "real/pkg/b.py"]


def test_compiled_files_behind_a_link_belong_to_their_own_project(here: Workplace) -> None:
    here.write({"lib/src/b.njpy": GREETING, "app/src/a.njpy": GREETING})
    here.njc("build", "lib/src", "-o", "lib/out")
    (here.folder / "app/src/dep").symlink_to(here.folder / "lib/out")
    assert "stale" not in here.njc("build", "app/src").stderr
    here.njc("build", "app/src", "--check")
    (here.folder / "app/src/a.njpy").unlink()
    here.njc("build", "--clean", "app/src")
    assert "lib/out/b.py" in here.files()
    assert "app/src/a.py" not in here.files()


def test_two_paths_to_one_output_are_refused(here: Workplace) -> None:
    here.write({"src/a/x.njpy": GREETING})
    (here.folder / "src/b").symlink_to(here.folder / "src/a")
    result = here.njc("build", "src", code=2)
    assert "src/a/x.njpy and src/b/x.njpy would both become" in result.stderr
    here.write({"pyproject.toml": '[tool.njc]\nexclude = ["b"]\n'})
    here.njc("build", "src")


# ── What is no regular file ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("command", ["build", "check", "run", "show", "lock"])
def test_a_fifo_is_an_error(here: Workplace, command: str) -> None:
    os.mkfifo(here.folder / "pipe.njpy")
    result = here.njc(command, "pipe.njpy", code=2)
    assert "cannot read pipe.njpy: not a regular file" in result.stderr


def test_fifos_in_directories_do_not_block(here: Workplace) -> None:
    here.write({"src/a.njpy": GREETING, "out/x.txt": ""})
    os.mkfifo(here.folder / "out/pipe.py")
    here.njc("build", "src", "-o", "out")
    here.njc("build", "--clean", "src", "-o", "out")
    (here.folder / "out/a.py").unlink()
    os.mkfifo(here.folder / "out/a.py")
    refused = here.njc("build", "src", "-o", "out", code=2)
    assert "cannot write out/a.py: not a regular file" in refused.stderr
    os.mkfifo(here.folder / "src/b.njpy")
    assert "cannot read src/b.njpy: not a regular file" in here.njc("build", "src", code=2).stderr


def test_hidden_files_are_no_sources(here: Workplace) -> None:
    here.write({"a.njpy": GREETING, "._a.njpy": "\x00"})
    (here.folder / ".#a.njpy").symlink_to("user@host.1234:5678")  # a lock of Emacs
    here.njc("build", ".", "-o", "out")
    assert here.files("out") == ["out/a.py"]


# ── Line ends ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("converted", ["sources", "compiled files", "both"])
def test_a_checkout_with_other_line_ends_is_up_to_date(here: Workplace, converted: str) -> None:
    here.write(PACKAGE)
    here.njc("build", "src", "-o", "out")
    suffixes = {"sources": ["src"], "compiled files": ["out"], "both": ["src", "out"]}[converted]
    for folder in suffixes:
        for path in here.files(folder):
            here.write({path: here.read(path).replace("\n", "\r\n")})
    for flags in ([], ["--force"]):
        here.njc("build", "src", "-o", "out", "--check", *flags)
    here.write({"src/shop/mail.njpy": here.read("src/shop/mail.njpy").replace("Greet", "Welcome")})
    here.njc("build", "src", "-o", "out")


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(here: Workplace) -> None:
    here.write({"src/a.njpy": GREETING, "src/b.njpy": GREETING, "out/b.py/c.txt": ""})
    assert "cannot write out/b.py" in here.njc("build", "src", "-o", "out", code=2).stderr
    assert here.files("out") == ["out/b.py/c.txt"]


# ── Output that cannot be written ────────────────────────────────────────────────────────────────


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "PYTHONUNBUFFERED=1"])
@pytest.mark.parametrize("command", ["--version", "--help", "explain", "show a.njpy", "check -h"])
def test_a_full_disk_is_an_error(here: Workplace, command: str, unbuffered: str) -> None:
    here.write({"a.njpy": GREETING})
    result = here.shell(f"{unbuffered} njc {command} > /dev/full", code=2)
    assert result.stderr == "error: cannot write the output: No space left on device\n"


@pytest.mark.parametrize("unbuffered", ["", "PYTHONUNBUFFERED=1"])
def test_a_closed_pipe_is_no_traceback(here: Workplace, unbuffered: str) -> None:
    assert here.shell(f"{unbuffered} njc explain | true").stderr == ""
