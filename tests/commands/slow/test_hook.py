"""The import hook: which file is found, what is left on disk, what goes wrong and how."""

from __future__ import annotations

import textwrap

from workplace import GREETING, MISSPELT, Workplace


def run(here: Workplace, program: str, *flags: str) -> str:
    """Run a Python program with the hook installed, and return what it prints."""
    text = "import njc.hook\nnjc.hook.install()\n" + textwrap.dedent(program)
    here.write({"main.py": text})
    result = here.python(*flags, "main.py")
    return result.stdout + result.stderr


def test_modules_packages_and_namespaces(here: Workplace) -> None:
    here.write(
        {
            "single.njpy": GREETING + "NAME = __name__\n",
            "pkg/__init__.njpy": "NAME = __name__\n",
            "pkg/inner.njpy": "from . import NAME as OUTER\nNAME = __name__\n",
            "space/inside.njpy": "NAME = __name__\n",
            "plain.py": "import single\nNAME = single.NAME\n",
        }
    )
    out = run(
        here,
        """
        import single, pkg.inner, space.inside, plain
        print(single.NAME, pkg.NAME, pkg.inner.NAME, pkg.inner.OUTER, space.inside.NAME, plain.NAME)
        import inspect
        print(inspect.getsource(single.greet).splitlines()[1].strip())
        """,
    )
    assert out.splitlines() == ["single pkg pkg.inner pkg space.inside single", '"""natural']


def test_a_source_comes_before_its_compiled_file_and_leaves_no_bytecode(here: Workplace) -> None:
    here.write({"mod.njpy": "WHICH = 'source'\n", "mod.py": "WHICH = 'compiled'\n"})
    program = """
        import os, sys
        import mod
        print(mod.WHICH, mod.__file__.endswith("mod.njpy"), mod.__spec__.cached)
        print(os.path.exists("__pycache__"))
        njc.hook.uninstall()
        del sys.modules["mod"]
        import mod
        print(mod.WHICH)
        """
    assert run(here, program).splitlines() == ["source True None", "False", "compiled"]


def test_the_path_decides_between_directories(here: Workplace) -> None:
    here.write({"first/mod.py": "WHICH = 'first'\n", "second/mod.njpy": "WHICH = 'second'\n"})
    program = """
        import sys
        sys.path[:0] = ["first", "second"]
        import mod
        print(mod.WHICH)
        del sys.modules["mod"], sys.path[0]
        import mod
        print(mod.WHICH)
        """
    assert run(here, program).split() == ["first", "second"]


def test_new_files_are_found_after_invalidate_caches(here: Workplace) -> None:
    program = """
        import importlib, pathlib
        try:
            import late
        except ModuleNotFoundError:
            print("not yet")
        pathlib.Path("late.njpy").write_text("X = 1\\n")
        importlib.invalidate_caches()
        import late
        pathlib.Path("late.njpy").write_text("X = 22\\n")
        importlib.reload(late)
        print(late.X)
        """
    assert run(here, program).splitlines() == ["not yet", "22"]


def test_errors_are_syntax_errors_with_place_and_text(here: Workplace) -> None:
    here.write({"wrong.njpy": MISSPELT})
    program = """
        try:
            import wrong
        except SyntaxError as error:
            print(type(error).__name__, error.lineno, error.offset, error.text.strip())
            print(error.filename.endswith("wrong.njpy"), error.msg)
        import sys
        print("wrong" in sys.modules)
        """
    out = run(here, program).splitlines()
    assert out[0] == "NaturalSyntaxError 3 11 Greet <nmae> in a <:greeting>."
    assert out[1].startswith("True ")
    assert out[1].endswith("[NJ201]")
    assert out[2] == "False"


def test_warnings_are_syntax_warnings(here: Workplace) -> None:
    here.write({"wary.njpy": 'def f():\n    """natural\n    Find an <:answer>.\n    """\n'})
    out = run(here, "import wary\n")
    assert "wary.njpy:3: SyntaxWarning: " in out
    assert "[NJ204]" in out


def test_installing_twice_is_once(here: Workplace) -> None:
    program = """
        import sys
        before = len(sys.meta_path)
        njc.hook.install()
        print(len(sys.meta_path) - before)
        njc.hook.uninstall()
        print(len(sys.meta_path) - before)
        """
    assert run(here, program).split() == ["0", "-1"]


def test_children_have_the_hook_while_their_parent_has_it(here: Workplace) -> None:
    """Also if the parent has started children before."""
    program = """
        import multiprocessing, runpy
        from multiprocessing import spawn

        def find():
            try:
                return __import__("mod").NAME
            except ImportError:
                return "none"

        def find_in_child():
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                return pool.apply(find)

        if __name__ == "__main__":
            print(find_in_child())
            for change in (njc.hook.install, njc.hook.uninstall, njc.hook.install):
                change()
                is_compiled = runpy.run_path("mod.njpy")["__loader__"] is not None
                print(find_in_child(), is_compiled)
        """
    text = "import njc.hook\n" + textwrap.dedent(program)
    here.write({"mod.njpy": "NAME = 'mod'\n", "main.py": text})
    result = here.python("main.py")
    assert result.stdout.split() == ["none", "mod", "True", "none", "False", "mod", "True"], result


def test_options_of_the_project_hold_for_imports(here: Workplace) -> None:
    here.write({"pyproject.toml": "[tool.njc]\nmax-effects = 0\n", "mod.njpy": GREETING})
    out = run(
        here,
        """
        from njrt.errors import ConfigurationError
        try:
            import mod
        except ConfigurationError as error:
            print(error)
        """,
    )
    assert "option `max_effects` must be a whole number from 1" in out


def test_folders_of_the_path_may_be_written_in_any_way(here: Workplace) -> None:
    here.write({"src/mod.njpy": "NAME = __name__\n", "tests/empty.txt": ""})
    for folder in ("src", "./src", "tests/../src", "tests/.././src/"):
        program = f"import sys\nsys.path.insert(0, {folder!r})\nimport mod\nprint(mod.NAME)\n"
        assert run(here, program).split() == ["mod"], folder


def test_entries_of_the_path_that_python_ignores_are_ignored(here: Workplace) -> None:
    here.write({"src/mod.njpy": "NAME = __name__\n", "gone/empty.txt": ""})
    program = """
        import os, pathlib, shutil, sys
        sys.path[:0] = [pathlib.Path("src"), b"src", None, "", "nowhere"]
        sys.path.append(os.path.abspath("src"))
        os.chdir("gone")
        shutil.rmtree(os.getcwd())
        import colorsys, mod
        print(mod.NAME, colorsys.__name__)
        try:
            import no_such_module
        except ModuleNotFoundError:
            print("not found")
        """
    assert run(here, program).split("\n") == ["mod colorsys", "not found", ""]


def test_a_file_that_runpy_runs_is_compiled(here: Workplace) -> None:
    here.write({"folder/prog.njpy": GREETING + "NAME = __name__\n", "plain.py": "A = 1\n"})
    program = """
        import os, runpy
        found = runpy.run_path("folder/prog.njpy", run_name="main")
        print(found["NAME"], "run" in found["greet"].__code__.co_names)
        print(runpy.run_path("plain.py")["A"])
        """
    assert run(here, program).splitlines() == ["main True", "1"]
