"""`njc build --mode static` and `njc lock`: from a model's replies, or from the lock, to compiled files."""

from __future__ import annotations

import os
import pstats

import pytest
from studio import Studio

from njc.compiler.analysis.check import check
from njc.compiler.codegen.emit import emit
from njc.compiler.frontend.parse import parse
from njc.static.lock import read_lock
from njrt.errors import ServerError
from njrt.events import Asked, Event, Replied
from njrt.log.listeners import add_listener
from njrt.messages import ModelMessage, Reply, Request, UserMessage
from processes import run_python

SHOP = '''\
def total(prices, limit):
    spent = 0
    for price in prices:
        """natural
        Add <price> to <:spent>, but break before it is above <limit>.
        """
    return spent
'''
GOOD = "```python\nif spent + price > limit:\n    break\nspent += price\n```"
BAD = "```python\nlimit -= price\n```"
WORSE = "I cannot do that."


def run(studio: Studio, expression: str) -> str:
    """Import the compiled program in a process of its own, without any way to a model."""
    code = f"import shop; print({expression})"
    environ = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    done = run_python("-c", code, cwd=studio.folder, env=environ, check=True)
    return done.stdout.strip()


def test_added_listeners_hear_of_the_calls_of_a_build(studio: Studio) -> None:
    events: list[Event] = []
    remove = add_listener(events.append)
    try:
        studio.write({"shop.njpy": SHOP})
        studio.njc("build", ".", "--mode", "static", replies=[WORSE, GOOD])
    finally:
        remove()
    assert [type(event) for event in events] == [Asked, Replied] * 2
    assert {event.run for event in events} == {"shop.njpy:4"}


def test_a_block_is_written_locked_and_built_again_without_a_model(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    first = studio.njc("build", ".", "--mode", "static", replies=[GOOD])
    assert first.exit_code == 0, first.output
    assert "writing shop.njpy:total" in first.stderr
    assert run(studio, "shop.total([1, 2, 3], 4)") == "3"
    compiled, lock = studio.read("shop.py"), studio.read("njc.lock")
    (studio.folder / "shop.py").unlink()
    again = studio.njc("build", ".", "--mode", "static", "--locked")
    assert again.exit_code == 0, again.output
    assert (studio.read("shop.py"), studio.read("njc.lock")) == (compiled, lock)
    assert "1 up to date" in studio.njc("build", ".", "--mode", "static").stderr
    assert "1 file compiled" in studio.njc("build", ".").stderr, "live is another compilation"


def test_a_checkout_with_other_line_ends_is_up_to_date(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    assert studio.njc("build", ".", "--mode", "static", replies=[GOOD]).exit_code == 0
    for name in ("shop.njpy", "shop.py", "njc.lock"):
        studio.write({name: studio.read(name).replace("\n", "\r\n")})
    for flags in ([], ["--force"]):
        again = studio.njc("build", ".", "--mode", "static", "--check", *flags)
        assert again.exit_code == 0, again.output


def test_a_locked_build_reads_each_file_once(studio: Studio) -> None:
    """Three blocks: their code is checked in its place together, and that compilation is what is written."""
    studio.write({"shop.njpy": "\n\n".join(SHOP.replace("total", name) for name in "abc")})
    assert studio.njc("build", ".", "--mode", "static", replies=[GOOD] * 3).exit_code == 0
    (studio.folder / "shop.py").unlink()
    profile = studio.folder / "profile"
    command = ["-m", "cProfile", "-o", str(profile), "-m", "njc", "build", ".", "--mode", "static"]
    again = run_python(*command, "--locked", cwd=studio.folder, timeout=60)
    assert "1 file compiled" in again.stderr
    counted = {
        (function.__code__.co_filename, function.__name__) for function in (parse, check, emit)
    }
    stats = pstats.Stats(str(profile)).stats  # type: ignore[attr-defined]
    calls = {name: row[1] for (file, _, name), row in stats.items() if (file, name) in counted}
    assert calls == {"parse": 1, "check": 1, "emit": 1}


def test_the_head_of_a_file_says_who_wrote_its_code(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    assert studio.njc("build", ".", "--mode", "static", replies=[GOOD], name="m").exit_code == 0
    head = studio.read("shop.py").split("\n")[2]
    assert head == "# code by m"


def test_a_locked_build_needs_no_tools_and_no_network(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    studio.njc("build", ".", "--mode", "static", replies=[GOOD])
    (studio.folder / "shop.py").unlink()
    hidden = """
import sys
sys.modules.update(dict.fromkeys(("tomlkit", "libcst", "openai", "httpx")))
def refuse(event, arguments):
    assert event not in ("socket.connect", "socket.getaddrinfo"), event
sys.addaudithook(refuse)
"""
    command = "sys.argv = ['njc', 'build', '.', '--mode', 'static', '--locked']\nfrom njc.cli import main; main()"
    done = run_python("-c", hidden + command, cwd=studio.folder, timeout=60)
    assert done.returncode == 0, done.stderr
    assert run(studio, "shop.total([1, 2, 3], 4)") == "3"


def test_refused_code_goes_back_with_its_reasons(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    result = studio.njc("build", ".", "--mode", "static", replies=[BAD, WORSE, GOOD])
    assert result.exit_code == 0, result.output
    second, third = (request.messages[-1] for request in studio.asked[1:])
    assert isinstance(second, UserMessage)
    assert "line 1: `limit` is read-only in this block" in second.text
    assert isinstance(third, UserMessage)
    assert "There is no code in your reply" in third.text
    assert [request.temperature for request in studio.asked] == pytest.approx([0.0, 0.3, 0.6])
    assert "attempts = 3" in studio.read("njc.lock")


def test_nothing_is_asked_on_a_read_only_disk(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build from the lock writes no lock."""
    studio.write({"shop.njpy": SHOP})
    with monkeypatch.context() as patch:
        patch.setattr("os.access", lambda _, mode: mode != os.W_OK)
        refused = studio.njc("build", "shop.njpy", "--mode", "static")
        assert (refused.exit_code, studio.asked) == (2, [])
        assert "cannot write njc.lock: its directory is read-only" in refused.output
    assert studio.njc("build", "shop.njpy", "--mode", "static", replies=[GOOD]).exit_code == 0
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    assert studio.njc("build", "shop.njpy", "--mode", "static", "--force").exit_code == 0
    learn = ("static", "shop.njpy", "--repair", "--test", "true")
    assert "cannot write njc.lock: it is read-only" in studio.njc(*learn).output


def test_no_code_is_a_build_error(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    result = studio.njc(
        "build", ".", "--mode", "static", "--attempts", "3", replies=[BAD, WORSE, BAD]
    )
    assert result.exit_code == 1
    assert "shop.njpy:4:9: error[NJ401]: no code for `shop.njpy:total` passed the checks in 3 " in (
        result.stderr
    )
    assert "nothing was written" in result.stderr
    assert not (studio.folder / "shop.py").exists()


def test_a_block_may_fall_back_to_live(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP.replace('"""natural', '"""natural(fallback="live")')})
    result = studio.njc("build", ".", "--mode", "static", "--attempts", "1", replies=[BAD])
    assert result.exit_code == 0, result.output
    assert "note: shop.njpy:total stays live: no code passed the checks in 1 attempt" in (
        result.stderr
    )
    assert "_nj.run(" in studio.read("shop.py")
    assert studio.njc("build", ".", "--mode", "static", "--locked").exit_code == 0


def test_what_is_missing_or_stale_is_named(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    result = studio.njc("build", ".", "--mode", "static", "--locked")
    assert result.exit_code == 1
    assert "the code of `shop.njpy:total` in njc.lock is missing" in result.stderr
    studio.njc("build", ".", "--mode", "static", replies=[GOOD])
    studio.write({"shop.njpy": SHOP.replace("but break before", "and break once")})
    result = studio.njc("build", ".", "--mode", "static", "--locked")
    assert result.exit_code == 1
    assert "stale: its instruction changed" in result.stderr
    assert studio.njc("lock", ".", "--mode", "static").exit_code == 1
    studio.write({"shop.njpy": SHOP.replace("return spent", "return spent + 1")})
    result = studio.njc("lock", ".", "--mode", "static")
    assert "stale: the program around it changed" in result.stdout


def test_edits_elsewhere_leave_the_lock_alone(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    studio.njc("build", ".", "--mode", "static", replies=[GOOD])
    studio.write({"shop.njpy": f"import os\n\n\n{SHOP}\n\ndef other():\n    return os.sep\n"})
    result = studio.njc("build", ".", "--mode", "static")
    assert "stale" not in result.output
    assert result.exit_code == 3, "the imports are shown, so the block is written again"


def test_a_renamed_file_keeps_its_code(studio: Studio) -> None:
    studio.write({"old.njpy": SHOP})
    studio.njc("build", ".", "--mode", "static", replies=[GOOD])
    (studio.folder / "old.njpy").rename(studio.folder / "shop.njpy")
    assert studio.njc("build", ".", "--mode", "static").exit_code == 0
    assert 'name = "shop.njpy:total"' in studio.read("njc.lock")


def test_edited_code_is_kept_checked_and_named(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    studio.njc("build", ".", "--mode", "static", replies=[GOOD])
    edited = studio.read("njc.lock").replace("spent += price", "spent += 2 * price")
    studio.write({"njc.lock": edited})
    assert studio.njc("build", ".", "--mode", "static").exit_code == 0
    assert run(studio, "shop.total([1], 4)") == "2"
    assert "edited\n" in studio.njc("lock", ".", "--mode", "static").stdout
    studio.write({"shop.njpy": SHOP.replace("but break before", "and break once")})
    result = studio.njc("build", ".", "--mode", "static", replies=[GOOD])
    assert result.exit_code == 1
    assert "its instruction changed, and its code was edited" in result.stderr
    assert studio.njc("lock", ".", "--mode", "static", "--keep", ":total").exit_code == 0
    assert studio.njc("build", ".", "--mode", "static").exit_code == 0
    assert run(studio, "shop.total([1], 4)") == "2"
    studio.write({"njc.lock": studio.read("njc.lock").replace("2 * price", "2 * prices")})
    result = studio.njc("build", ".", "--mode", "static")
    assert result.exit_code == 1
    assert "the edited code of `shop.njpy:total` is refused: line 3: `prices`" in result.stderr


def test_a_block_without_its_entry_is_written_again(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP, "other.njpy": SHOP})
    studio.njc("build", ".", "--mode", "static", replies=[GOOD, GOOD])
    head, first, _ = studio.read("njc.lock").split("[[block]]")
    studio.write({"njc.lock": f"{head}[[block]]{first}"})
    other = GOOD.replace("spent += price", "spent = spent + price")
    assert studio.njc("build", ".", "--mode", "static", replies=[other]).exit_code == 0
    lock = studio.read("njc.lock")
    assert lock.count("spent = spent + price") == lock.count("spent += price") == 1
    result = studio.njc("lock", ".", "--mode", "static", "--keep", "shop.njpy:sum")
    assert result.exit_code == 2
    assert "there is no static block `shop.njpy:sum`" in result.stderr


def test_stale_learned_code_is_passed_over_unless_it_was_edited(studio: Studio) -> None:
    """njc 0.2 learned code from examples; it is preferred while its block stays as it is."""
    studio.write({"shop.njpy": SHOP})
    learned = GOOD.replace("spent += price", "spent = spent + price")
    studio.njc("build", ".", "--mode", "static", replies=[learned])
    kept = studio.read("njc.lock").replace('"static"', '"static-learned"')
    studio.write({"njc.lock": kept})
    assert studio.njc("build", ".", "--mode", "static", "--locked").exit_code == 0
    assert "spent = spent + price" in studio.read("shop.py")
    studio.write({"shop.njpy": SHOP.replace("Add <price>", "Add the <price>")})
    assert studio.njc("build", ".", "--mode", "static", replies=[GOOD]).exit_code == 0
    assert "spent += price" in studio.read("shop.py")
    studio.write({"njc.lock": kept.replace("spent = spent + price", "spent = price + spent")})
    result = studio.njc("build", ".", "--mode", "static")
    assert (
        "error[NJ403]: the code of `shop.njpy:total` is stale: its instruction changed"
        in result.stderr
    )


def test_what_was_written_before_a_failure_is_kept(studio: Studio) -> None:
    studio.write({"a.njpy": SHOP, "b.njpy": SHOP})
    replies = iter([GOOD, ServerError("the server is down")])
    result = studio.njc("build", ".", "--mode", "static", replies=lambda request: next(replies))
    assert result.exit_code == 3
    assert 'name = "a.njpy:total"' in studio.read("njc.lock")
    assert studio.njc("build", ".", "--mode", "static", replies=[GOOD]).exit_code == 0
    assert len(studio.asked) == 3


def test_modes_of_block_file_and_project(studio: Studio) -> None:
    static = SHOP.replace('"""natural', '"""natural(mode="static")')
    studio.write({"shop.njpy": static + SHOP.replace("total", "sums")})
    assert studio.njc("build", ".", replies=[GOOD]).exit_code == 0
    assert studio.read("shop.py").count("_nj.run(") == 1
    studio.write({"shop.njpy": "# njc: mode=static\n" + SHOP})
    assert studio.njc("build", ".").exit_code == 0, "the mode of the file is no part of the meaning"
    studio.write({"shop.njpy": SHOP, "pyproject.toml": '[tool.njc]\nsrc = "."\nmode = "static"\n'})
    assert studio.njc("build").exit_code == 0
    assert "# end of natural block" in studio.read("shop.py")


def test_a_check_asks_nobody(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    result = studio.njc("build", ".", "--mode", "static", "--check")
    assert result.exit_code == 1
    assert "in njc.lock is " in result.stderr
    assert studio.asked == []


def test_errors_of_the_program_come_before_any_question(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP.replace("<price>", "<prise>")})
    result = studio.njc("build", ".", "--mode", "static")
    assert result.exit_code == 1
    assert "NJ201" in result.stderr
    assert studio.asked == []


def test_the_lock_names_the_model_that_was_asked(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    reply = Reply(ModelMessage(GOOD), model="local")
    built = studio.njc("build", ".", "--mode", "static", replies=[reply], name="openai/Qwen")
    assert built.exit_code == 0, built.output
    (entry,) = read_lock(studio.folder / "njc.lock").entries.values()
    assert entry.model == "openai/Qwen"


def edit_lock(studio: Studio, old: str, new: str) -> None:
    studio.write({"njc.lock": studio.read("njc.lock").replace(old, new)})


def test_an_edit_of_the_lock_while_a_model_is_asked_is_kept(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP})
    studio.njc("build", ".", "--mode", "static", replies=[GOOD])

    def reply(request: Request) -> str:
        edit_lock(studio, "    break\n", "    break  # enough\n")
        return "```python\ndone = True\n```"

    studio.write(
        {"other.njpy": 'def end():\n    """natural\n    Set <:done>.\n    """\n    return done\n'}
    )
    result = studio.njc("build", ".", "--mode", "static", replies=reply)
    assert result.exit_code == 0, result.output
    assert "break  # enough" in studio.read("njc.lock")
    assert "done = True" in studio.read("njc.lock")
