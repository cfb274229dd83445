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
BUILD = ("build", ".", "--mode", "static")
LOCK = ("lock", ".", "--mode", "static")


@pytest.fixture
def shop(studio: Studio) -> Studio:
    """Return a folder with the program."""
    studio.write({"shop.njpy": SHOP})
    return studio


@pytest.fixture
def built(shop: Studio) -> Studio:
    """Return a folder with the program, its code in the lock and its compiled file."""
    shop.njc(*BUILD, replies=[GOOD])
    return shop


def run(studio: Studio, expression: str) -> str:
    """Import the compiled program in a process of its own, without any way to a model."""
    code = f"import shop; print({expression})"
    environ = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    done = run_python("-c", code, cwd=studio.folder, env=environ, check=True)
    return done.stdout.strip()


def test_added_listeners_hear_of_the_calls_of_a_build(shop: Studio) -> None:
    events: list[Event] = []
    remove = add_listener(events.append)
    try:
        shop.njc(*BUILD, replies=[WORSE, GOOD])
    finally:
        remove()
    assert [type(event) for event in events] == [Asked, Replied] * 2
    assert {event.run for event in events} == {"shop.njpy:4"}


def test_a_block_is_written_locked_and_built_again_without_a_model(shop: Studio) -> None:
    assert "writing shop.njpy:total" in shop.njc(*BUILD, replies=[GOOD]).stderr
    assert run(shop, "shop.total([1, 2, 3], 4)") == "3"
    compiled, lock = shop.read("shop.py"), shop.read("njc.lock")
    (shop.folder / "shop.py").unlink()
    shop.njc(*BUILD, "--locked")
    assert (shop.read("shop.py"), shop.read("njc.lock")) == (compiled, lock)
    assert "1 up to date" in shop.njc(*BUILD).stderr
    assert "1 file compiled" in shop.njc("build", ".").stderr, "live is another compilation"


def test_a_checkout_with_other_line_ends_is_up_to_date(built: Studio) -> None:
    for name in ("shop.njpy", "shop.py", "njc.lock"):
        built.write({name: built.read(name).replace("\n", "\r\n")})
    for flags in ([], ["--force"]):
        built.njc(*BUILD, "--check", *flags)


def test_a_locked_build_reads_each_file_once(studio: Studio) -> None:
    """Three blocks: their code is checked in its place together, and that compilation is what is written."""
    studio.write({"shop.njpy": "\n\n".join(SHOP.replace("total", name) for name in "abc")})
    studio.njc(*BUILD, replies=[GOOD] * 3)
    (studio.folder / "shop.py").unlink()
    profile = studio.folder / "profile"
    command = ["-m", "cProfile", "-o", str(profile), "-m", "njc", *BUILD]
    again = run_python(*command, "--locked", cwd=studio.folder, timeout=60)
    assert "1 file compiled" in again.stderr
    counted = {
        (function.__code__.co_filename, function.__name__) for function in (parse, check, emit)
    }
    stats = pstats.Stats(str(profile)).stats  # type: ignore[attr-defined]
    calls = {name: row[1] for (file, _, name), row in stats.items() if (file, name) in counted}
    assert calls == {"parse": 1, "check": 1, "emit": 1}


def test_a_locked_build_needs_no_tools_and_no_network(built: Studio) -> None:
    (built.folder / "shop.py").unlink()
    hidden = """
import sys
sys.modules.update(dict.fromkeys(("tomlkit", "libcst", "openai", "httpx")))
def refuse(event, arguments):
    assert event not in ("socket.connect", "socket.getaddrinfo"), event
sys.addaudithook(refuse)
"""
    command = "sys.argv = ['njc', 'build', '.', '--mode', 'static', '--locked']\nfrom njc.cli import main; main()"
    built.python("-c", hidden + command)
    assert run(built, "shop.total([1, 2, 3], 4)") == "3"


def test_refused_code_goes_back_with_its_reasons(shop: Studio) -> None:
    shop.njc(*BUILD, replies=[BAD, WORSE, GOOD])
    second, third = (request.messages[-1] for request in shop.asked[1:])
    assert isinstance(second, UserMessage)
    assert "line 1: `limit` is read-only in this block" in second.text
    assert isinstance(third, UserMessage)
    assert "There is no code in your reply" in third.text
    assert [request.temperature for request in shop.asked] == pytest.approx([0.0, 0.3, 0.6])
    assert "attempts = 3" in shop.read("njc.lock")


def test_nothing_is_asked_on_a_read_only_disk(
    shop: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build from the lock writes no lock."""
    with monkeypatch.context() as patch:
        patch.setattr("os.access", lambda _, mode: mode != os.W_OK)
        refused = shop.njc(*BUILD, code=2)
        assert shop.asked == []
        assert "cannot write njc.lock: its directory is read-only" in refused.output
    shop.njc(*BUILD, replies=[GOOD])
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    shop.njc(*BUILD, "--force")
    learn = ("static", "shop.njpy", "--repair", "--test", "true")
    assert "cannot write njc.lock: it is read-only" in shop.njc(*learn, code=2).output


def test_a_block_may_fall_back_to_live(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP.replace('"""natural', '"""natural(fallback="live")')})
    note = "note: shop.njpy:total stays live: no code passed the checks in 1 attempt"
    assert note in studio.njc(*BUILD, "--attempts", "1", replies=[BAD]).stderr
    assert "_nj.run(" in studio.read("shop.py")
    studio.njc(*BUILD, "--locked")


def test_what_is_missing_or_stale_is_named(shop: Studio) -> None:
    result = shop.njc(*BUILD, "--locked", code=1)
    assert "the code of `shop.njpy:total` in njc.lock is missing" in result.stderr
    shop.njc(*BUILD, replies=[GOOD])
    shop.write({"shop.njpy": SHOP.replace("but break before", "and break once")})
    assert "stale: its instruction changed" in shop.njc(*BUILD, "--locked", code=1).stderr
    shop.njc(*LOCK, code=1)
    shop.write({"shop.njpy": SHOP.replace("return spent", "return spent + 1")})
    assert "stale: the program around it changed" in shop.njc(*LOCK, code=1).stdout


def test_edits_elsewhere_leave_the_lock_alone(built: Studio) -> None:
    built.write({"shop.njpy": f"import os\n\n\n{SHOP}\n\ndef other():\n    return os.sep\n"})
    # The imports are shown, so the block is written again.
    assert "stale" not in built.njc(*BUILD, code=3).output


def test_a_renamed_file_keeps_its_code(studio: Studio) -> None:
    studio.write({"old.njpy": SHOP})
    studio.njc(*BUILD, replies=[GOOD])
    (studio.folder / "old.njpy").rename(studio.folder / "shop.njpy")
    studio.njc(*BUILD)
    assert 'name = "shop.njpy:total"' in studio.read("njc.lock")


def test_edited_code_is_kept_checked_and_named(built: Studio) -> None:
    edited = built.read("njc.lock").replace("spent += price", "spent += 2 * price")
    built.write({"njc.lock": edited})
    built.njc(*BUILD)
    assert run(built, "shop.total([1], 4)") == "2"
    assert "edited\n" in built.njc(*LOCK).stdout
    built.write({"shop.njpy": SHOP.replace("but break before", "and break once")})
    result = built.njc(*BUILD, replies=[GOOD], code=1)
    assert "its instruction changed, and its code was edited" in result.stderr
    built.njc(*LOCK, "--keep", ":total")
    built.njc(*BUILD)
    assert run(built, "shop.total([1], 4)") == "2"
    built.write({"njc.lock": built.read("njc.lock").replace("2 * price", "2 * prices")})
    result = built.njc(*BUILD, code=1)
    assert "the edited code of `shop.njpy:total` is refused: line 3: `prices`" in result.stderr


def test_a_block_without_its_entry_is_written_again(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP, "other.njpy": SHOP})
    studio.njc(*BUILD, replies=[GOOD, GOOD])
    head, first, _ = studio.read("njc.lock").split("[[block]]")
    studio.write({"njc.lock": f"{head}[[block]]{first}"})
    other = GOOD.replace("spent += price", "spent = spent + price")
    studio.njc(*BUILD, replies=[other])
    lock = studio.read("njc.lock")
    assert lock.count("spent = spent + price") == lock.count("spent += price") == 1
    result = studio.njc(*LOCK, "--keep", "shop.njpy:sum", code=2)
    assert "there is no static block `shop.njpy:sum`" in result.stderr


def test_stale_learned_code_is_passed_over_unless_it_was_edited(shop: Studio) -> None:
    """njc 0.2 learned code from examples; it is preferred while its block stays as it is."""
    learned = GOOD.replace("spent += price", "spent = spent + price")
    shop.njc(*BUILD, replies=[learned])
    kept = shop.read("njc.lock").replace('"static"', '"static-learned"')
    shop.write({"njc.lock": kept})
    shop.njc(*BUILD, "--locked")
    assert "spent = spent + price" in shop.read("shop.py")
    shop.write({"shop.njpy": SHOP.replace("Add <price>", "Add the <price>")})
    shop.njc(*BUILD, replies=[GOOD])
    assert "spent += price" in shop.read("shop.py")
    shop.write({"njc.lock": kept.replace("spent = spent + price", "spent = price + spent")})
    problem = "error[NJ403]: the code of `shop.njpy:total` is stale: its instruction changed"
    assert problem in shop.njc(*BUILD, code=1).stderr


def test_what_was_written_before_a_failure_is_kept(studio: Studio) -> None:
    studio.write({"a.njpy": SHOP, "b.njpy": SHOP})
    replies = iter([GOOD, ServerError("the server is down")])
    studio.njc(*BUILD, replies=lambda request: next(replies), code=3)
    assert 'name = "a.njpy:total"' in studio.read("njc.lock")
    studio.njc(*BUILD, replies=[GOOD])
    assert len(studio.asked) == 3


def test_modes_of_block_file_and_project(studio: Studio) -> None:
    static = SHOP.replace('"""natural', '"""natural(mode="static")')
    studio.write({"shop.njpy": static + SHOP.replace("total", "sums")})
    studio.njc("build", ".", replies=[GOOD])
    assert studio.read("shop.py").count("_nj.run(") == 1
    studio.write({"shop.njpy": "# njc: mode=static\n" + SHOP})
    studio.njc("build", ".")  # the mode of the file is no part of the meaning
    studio.write({"shop.njpy": SHOP, "pyproject.toml": '[tool.njc]\nsrc = "."\nmode = "static"\n'})
    studio.njc("build")
    assert "# end of natural block" in studio.read("shop.py")


def test_errors_of_the_program_come_before_any_question(studio: Studio) -> None:
    studio.write({"shop.njpy": SHOP.replace("<price>", "<prise>")})
    assert "NJ201" in studio.njc(*BUILD, code=1).stderr
    assert studio.asked == []


def test_the_lock_names_the_model_that_was_asked(shop: Studio) -> None:
    reply = Reply(ModelMessage(GOOD), model="local")
    shop.njc(*BUILD, replies=[reply], name="openai/Qwen")
    (entry,) = read_lock(shop.folder / "njc.lock").entries.values()
    assert entry.model == "openai/Qwen"


def test_an_edit_of_the_lock_while_a_model_is_asked_is_kept(built: Studio) -> None:
    def reply(request: Request) -> str:
        built.edit("njc.lock", "    break\n", "    break  # enough\n")
        return "```python\ndone = True\n```"

    built.write(
        {"other.njpy": 'def end():\n    """natural\n    Set <:done>.\n    """\n    return done\n'}
    )
    built.njc(*BUILD, replies=reply)
    assert "break  # enough" in built.read("njc.lock")
    assert "done = True" in built.read("njc.lock")
