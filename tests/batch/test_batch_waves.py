"""`njc batch --vendor-batch`: waves through Batch APIs that answer late, out of order, twice, or not at all."""

from __future__ import annotations

import json
import os
import re
import signal
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from batch_workplace import BatchWorkplace, expect, reply

from batch_servers import AnthropicBatchServer, BatchFaults, BatchServer, OpenAIBatchServer
from njc.batch.journal import BatchLimits, RequestJournal, StoredReply, WaitingRequest
from njc.batch.rows import RowUsage, read_rows
from njc.batch.store import open_batch_store
from njc.batch.vendor import AnthropicBatches, RequestsBody
from njc.batch.waves import MAX_IDLE_PASSES, Waves, make_vendor
from njc.target import load_target
from njrt.persistence.open_store import get_store
from njrt.production.budgets.ledger import NANO, Ledger
from waiting import HANG_SECONDS, wait_until

pytest.importorskip("openai")
pytest.importorskip("anthropic")

SERVERS = {"openai": OpenAIBatchServer, "anthropic": AnthropicBatchServer}
MODELS = {"openai": "openai/gpt-4.1", "anthropic": "anthropic/claude-sonnet-4-6"}
BAD = BatchFaults(seed=7, failed=0.03, expired=0.03, missing=0.02, duplicated=0.2, polls=4)
FAULTS = {
    "lines with errors too": BatchFaults(seed=1, contradicted=0.7, duplicated=0.3),
    "lines that are no results": BatchFaults(garbage=True),
    "downloads that break off": BatchFaults(broken_downloads=2),
    "empty downloads": BatchFaults(empty_downloads=2),
    "downloads that end too early": BatchFaults(cut_downloads=2),
    "uploads that break off": BatchFaults(broken_posts=2),
    "too many requests": BatchFaults(refused_creates=(1, 3), refusal=429),
    "responses of a proxy": BatchFaults(odd_checks=2, polls=2),
    "no line": BatchFaults(seed=4, missing=0.4),
    "expired": BatchFaults(seed=5, expired=0.4),
}
THOROUGH = bool(os.environ.get("NJC_THOROUGH"))
every_vendor = pytest.mark.parametrize("vendor", SERVERS)


def flags(vendor: str) -> tuple[str, ...]:
    return ("--vendor-batch", vendor, "--poll", "0.01")


def environ(server: BatchServer, vendor: str) -> dict[str, str]:
    return {**server.environment, "NJC_MODEL": MODELS[vendor]}  # type: ignore[attr-defined]


def mails(count: int) -> list[dict[str, str]]:
    return [{"mail": f"mail {number}"} for number in range(count)]


@every_vendor
def test_no_row_is_lost_or_doubled_on_a_bad_server(here: BatchWorkplace, vendor: str) -> None:
    here.write_program()
    count = {"openai": 100, "anthropic": 60}[vendor]
    here.write_rows(mails(count))
    with SERVERS[vendor](reply, BAD) as server:
        printed = here.batch(*flags(vendor), environ=environ(server, vendor))
    results = here.read_results()
    assert [line["index"] for line in results] == list(range(count))
    assert [line["result"] for line in results] == [expect(number) for number in range(count)]
    assert all(line["usage"]["calls"] == 2 for line in results)
    assert set(server.answered.values()) == {1}, "an answered request was sent again"
    assert len(server.answered) == 2 * count
    assert sum(server.asked.values()) <= 1.2 * 2 * count
    used = f"{2 * count:,} model calls, {2 * count * 1020:,} tokens"
    assert f"{count} rows done, 0 of them failed; {used}" in printed


@every_vendor
def test_calls_cost_half(here: BatchWorkplace, vendor: str) -> None:
    from njrt.messages import Usage
    from njrt.models.prices import compute_cost

    here.write_program()
    here.write_rows(mails(2))
    with SERVERS[vendor](reply) as server:
        here.batch(*flags(vendor), environ=environ(server, vendor))
    usage = Usage(1000, 20, 600)
    priced = compute_cost(MODELS[vendor], usage, is_batch=True)
    assert priced
    assert here.read_results()[0]["usage"]["usd"] == pytest.approx(2 * priced)
    uncached = Usage(1000, 20)
    standard = compute_cost(MODELS[vendor], uncached)
    assert standard
    assert compute_cost(MODELS[vendor], uncached, is_batch=True) == pytest.approx(standard / 2)


@every_vendor
def test_requests_of_tasks_go_in_one_wave(here: BatchWorkplace, vendor: str) -> None:
    here.write_program()
    here.write_rows({"first": f"mail {n}", "second": f"mail {n + 100}"} for n in range(5))
    with SERVERS[vendor](reply) as server:
        printed = here.batch(
            *flags(vendor), environ=environ(server, vendor), target="prog.njpy:sort_both"
        )
    assert [line["result"] for line in here.read_results()] == [
        [f"k{number}", f"k{number + 100}"] for number in range(5)
    ]
    assert "10 requests in 1 batches, 1 waves" in printed


@every_vendor
def test_questions_of_llm_go_in_waves(here: BatchWorkplace, vendor: str) -> None:
    here.write_program()
    here.write_rows({"question": f"mail {number}"} for number in range(3))
    with SERVERS[vendor](reply) as server:
        here.batch(*flags(vendor), environ=environ(server, vendor), target="prog.njpy:ask")
    assert [line["result"] for line in here.read_results()] == [0, 1, 2]


@every_vendor
def test_refused_requests_are_errors_of_their_rows(here: BatchWorkplace, vendor: str) -> None:
    here.write_program()
    here.write_rows(mails(40))
    with SERVERS[vendor](reply, BatchFaults(seed=2, rejected=0.2, only_first=1)) as server:
        here.batch(*flags(vendor), environ=environ(server, vendor), code=1)
        results = here.read_results()
        failed = [line for line in results if "error" in line]
        assert {line["error"]["type"] for line in failed} == {"RejectedRequestError"}
        assert 0 < len(failed) < 40
        assert sum(server.asked.values()) == 80 - len(failed)
        here.batch(*flags(vendor), "--retry", environ=environ(server, vendor))
    assert [line["result"] for line in here.read_results()] == [expect(n) for n in range(40)]


@every_vendor
def test_a_refused_schema_is_left_out_from_then_on(here: BatchWorkplace, vendor: str) -> None:
    here.write_program()
    here.write_rows(mails(8))
    with SERVERS[vendor](reply, BatchFaults(refuses_schemas=True)) as server:
        printed = here.batch(*flags(vendor), environ=environ(server, vendor))
        assert server.with_schema == 8, "only the requests of the first wave"
        assert "24 requests in 3 batches, 3 waves" in printed
        assert [line["result"] for line in here.read_results()] == [expect(n) for n in range(8)]
        here.write_rows([*mails(8), {"mail": "mail 8"}])
        here.batch(*flags(vendor), environ=environ(server, vendor))
        assert server.with_schema == 8, "not remembered"
    assert here.read_results()[8]["result"] == expect(8)


@every_vendor
def test_an_invalid_request_is_asked_once_more_without_its_schema(
    here: BatchWorkplace, vendor: str
) -> None:
    here.write_program(INVALID)
    here.write_rows(mails(3))
    faults = BatchFaults(refuses_schemas=True, rejected=1.0)
    with SERVERS[vendor](reply, faults) as server:
        here.batch(
            *flags(vendor), environ=environ(server, vendor), code=1, target="prog.njpy:sort_mail"
        )
        assert sum(server.asked.values()) == 6
    assert {line["error"]["type"] for line in here.read_results()} == {"RejectedRequestError"}


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        (name, vendor)
        for number, name in enumerate(FAULTS)
        for vendor in (SERVERS if THOROUGH else [list(SERVERS)[number % 2]])
    ],
)
def test_every_fault_of_a_vendor_loses_and_doubles_nothing(
    here: BatchWorkplace, name: str, vendor: str
) -> None:
    here.write_program()
    here.write_rows(mails(6))
    with SERVERS[vendor](reply, FAULTS[name]) as server:
        here.batch(*flags(vendor), environ=environ(server, vendor))
    assert [line["result"] for line in here.read_results()] == [expect(n) for n in range(6)]
    assert set(server.answered.values()) == {1}
    if not FAULTS[name].missing and not FAULTS[name].expired:
        assert set(server.asked.values()) == {1}, "answers that were there have been paid twice"
    assert len(list(here.folder.glob("out.jsonl.batch/batch-*"))) == 0, "prompts are left"


@every_vendor
def test_a_batch_that_the_vendor_has_deleted_is_sent_again_on_request(
    here: BatchWorkplace, vendor: str
) -> None:
    here.write_program()
    here.write_rows(mails(3))
    with SERVERS[vendor](reply, BatchFaults(forgotten=(1,), polls=0)) as server:
        printed = here.batch(*flags(vendor), environ=environ(server, vendor), code=3)
        assert "does not know the batch batch_1" in printed
        assert "--retry sends its 3 requests again" in printed
        here.batch(*flags(vendor), "--retry", environ=environ(server, vendor))
    assert [line["result"] for line in here.read_results()] == [expect(n) for n in range(3)]


@every_vendor
def test_a_lost_response_does_not_make_a_second_batch(here: BatchWorkplace, vendor: str) -> None:
    here.write_program()
    here.write_rows(mails(6))
    faults = BatchFaults(polls=2, lost_creates=(1, 2))
    with SERVERS[vendor](reply, faults) as server:
        here.batch(*flags(vendor), environ=environ(server, vendor))
    assert server.creations == 2
    assert set(server.asked.values()) == {1}


def test_a_terminated_command_leaves_its_batches_with_the_vendor(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows(mails(2))
    with SERVERS["openai"](reply, BatchFaults(polls=9)) as server:
        settings = environ(server, "openai")
        command = here.start("--vendor-batch", "openai", "--poll", "90", environ=settings)
        try:
            wait_until(lambda: server.checks)
            command.send_signal(signal.SIGTERM)
            _, printed = command.communicate(timeout=HANG_SECONDS)
        finally:
            command.kill()
            command.wait(HANG_SECONDS)
        assert (command.returncode, here.read_results()) == (130, [])
        assert "interrupted; the same command continues" in printed
        here.batch(*flags("openai"), environ=settings)
    assert [line["result"] for line in here.read_results()] == [expect(n) for n in range(2)]
    assert set(server.asked.values()) == {1}


@every_vendor
@pytest.mark.parametrize("hours", [-10, 10])
def test_a_clock_that_jumps_neither_stops_a_batch_nor_doubles_it(
    here: BatchWorkplace, vendor: str, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One creation is lost and one refused; before the batches are looked for, the clock jumps."""
    here.write_program()
    here.write_rows(mails(2))
    rows, now, pauses = here.folder / "rows.jsonl", time.time(), iter(range(100))
    with (
        SERVERS[vendor](reply, BatchFaults(lost_creates=(1,), refused_creates=(2,))) as server,
        open_batch_store(here.folder / "state") as store,
    ):
        for name, value in environ(server, vendor).items():
            monkeypatch.setenv(name, value)
        store.match_rows(read_rows(rows))

        def jump(seconds: float) -> None:
            next(pauses)
            time.sleep(seconds)
            with store.connection as connection:
                connection.execute(
                    "UPDATE batches SET at = at - ? WHERE state = 'submitting' AND abs(at - ?) < 3600",
                    (hours * 3600, now),
                )

        target = load_target(f"{here.folder}/prog.njpy:sort_mail")
        api = make_vendor(vendor)
        Waves(target, rows, None, store, vendor, api, lambda _: None, 0.01, sleep=jump).run()
        assert store.read_counts().done == 2
    assert server.creations == 3
    assert set(server.asked.values()) == {1}


def test_two_lost_responses_at_once_are_told_apart(
    here: BatchWorkplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        AnthropicBatches, "limits", BatchLimits(requests=3, bytes=10**6, overhead=120)
    )
    here.write_program()
    here.write_rows(mails(6))
    with AnthropicBatchServer(reply, BatchFaults(lost_creates=(1, 2))) as server:
        here.batch(*flags("anthropic"), environ=environ(server, "anthropic"))
    assert server.creations == 4
    assert set(server.asked.values()) == {1}


@every_vendor
def test_rows_go_on_while_other_batches_are_awaited(
    here: BatchWorkplace, vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = BatchLimits(requests=3, bytes=10**6, overhead=200)
    monkeypatch.setattr(type(make_vendor(vendor)), "limits", small)
    here.write_program()
    here.write_rows(mails(6))
    with SERVERS[vendor](reply, BatchFaults(polls=0, late=(1,))) as server:
        printed = here.batch(*flags(vendor), environ=environ(server, vendor))
    assert [line["result"] for line in here.read_results()] == [expect(n) for n in range(6)]
    assert server.batches["batch_1"].newest_at_end == 3, "the other rows did not ask their second"
    assert "12 requests in 4 batches, 2 waves" in printed


@every_vendor
def test_waves_are_no_more_than_the_unluckiest_row_needs(here: BatchWorkplace, vendor: str) -> None:
    here.write_program()
    here.write_rows(mails(30))
    with SERVERS[vendor](reply, BatchFaults(seed=3, missing=0.3)) as server:
        printed = here.batch(*flags(vendor), environ=environ(server, vendor))
    times = Counter[str]()
    for body, asked in server.asked.items():
        times[re.findall(r"mail \d+", body)[0]] += asked
    assert max(times.values()) > 3
    assert f" {max(times.values())} waves" in printed


def test_what_is_under_way_counts_for_the_limit(
    here: BatchWorkplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = BatchLimits(requests=3, bytes=10**6, overhead=200)
    monkeypatch.setattr(type(make_vendor("openai")), "limits", small)
    here.write_program()
    here.write_rows(mails(4))
    with OpenAIBatchServer(reply, BatchFaults(polls=0, late=(2,))) as server:
        limit = ("--max-usd", "0.0038")
        printed = here.batch(*flags("openai"), *limit, environ=environ(server, "openai"), code=3)
        assert "is spent, and the next wave of requests would cost about" in printed
        assert server.creations == 2, "more was sent while the second batch was awaited"
        assert all(batch.has_ended for batch in server.batches.values())
        here.batch(*flags("openai"), environ=environ(server, "openai"))
    assert [line["result"] for line in here.read_results()] == [expect(n) for n in range(4)]
    assert set(server.asked.values()) == {1}


@every_vendor
def test_text_that_is_not_unicode_is_sent_as_other_calls_send_it(
    here: BatchWorkplace, vendor: str
) -> None:
    here.write_program()
    here.write_rows(['{"question": "mail 1 \\ud800"}'])
    with SERVERS[vendor](reply) as server:
        target = "prog.njpy:ask"
        here.batch(*flags(vendor), environ=environ(server, vendor), target=target)
        assert "\\\\ud800" in "".join(server.asked), "the surrogate is not text"
    assert here.read_results()[0]["result"] == 1


@every_vendor
def test_a_budget_counts_each_call_once(here: BatchWorkplace, vendor: str) -> None:
    here.write_program()
    here.write_rows(mails(5))
    store = str(here.folder / "store.sqlite3")
    ledger = Ledger(get_store(store, {}))
    with SERVERS[vendor](reply) as server:
        budget = {"NJC_BUDGET": "usd=5 per=total", "NJC_STORE": store}
        given = environ(server, vendor) | budget
        here.batch(*flags(vendor), "--estimate", environ=given)
        (account,) = ledger.list_accounts()
        assert not account.state.held, "an estimate reserves something"
        here.batch(*flags(vendor), environ=given)
    (account,) = ledger.list_accounts()
    used = [line["usage"] for line in here.read_results()]
    assert (account.state.calls, len(account.state.held)) == (10, 10)
    assert account.state.tokens == sum(each["input"] + each["output"] for each in used)
    assert account.state.usd == round(sum(each["usd"] for each in used) * NANO)


class OddLinesServer(OpenAIBatchServer):
    """Writes lone surrogates into its ids and error messages."""

    def _write_lines(self, batch: Any, is_error: bool) -> Iterator[Mapping[str, Any]]:
        yield {"custom_id": "\ud800", "response": {"status_code": 200, "body": {}}}
        for line in super()._write_lines(batch, is_error):
            if is_error:
                line["response"]["body"]["error"]["message"] = "no \udfff"
            yield line


def test_ids_and_problems_that_are_not_unicode_are_read(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows(mails(1))
    with OddLinesServer(reply, BatchFaults(rejected=1.0)) as server:
        printed = here.batch(*flags("openai"), environ=environ(server, "openai"), code=1)
    assert "no \\udfff" in here.read_results()[0]["error"]["message"]
    assert "no \\udfff" in printed


@every_vendor
def test_a_refused_creation_is_repeated(here: BatchWorkplace, vendor: str) -> None:
    here.write_program()
    here.write_rows(mails(3))
    with SERVERS[vendor](reply, BatchFaults(refused_creates=(1,))) as server:
        here.batch(*flags(vendor), environ=environ(server, vendor))
    assert set(server.asked.values()) == {1}


def test_a_full_queue_makes_smaller_batches(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows(mails(20))
    with OpenAIBatchServer(reply, BatchFaults(queue=6)) as server:
        here.batch(*flags("openai"), environ=environ(server, "openai"))
        sizes = [len(batch.requests) for batch in server.batches.values() if not batch.problem]
    assert [line["result"] for line in here.read_results()] == [expect(n) for n in range(20)]
    assert max(sizes) <= 6


def test_the_cost_is_limited_before_a_wave_is_sent(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows(mails(50))
    with OpenAIBatchServer(reply) as server:
        limits = (*flags("openai"), "--max-usd")
        printed = here.batch(*limits, "0.0001", environ=environ(server, "openai"), code=3)
        assert "more than --max-usd 0.0001; nothing was sent" in printed
        assert not [*here.folder.glob("*.batch")]
        assert server.creations == 0
        first = here.batch(*limits, "0.055", environ=environ(server, "openai"), code=3)
        assert re.search(r"\$0\.0\d is spent, and the next wave .* more than --max-usd", first)
        assert server.creations == 1
        here.batch(*limits, "5", environ=environ(server, "openai"))
        assert server.creations == 2


def test_a_model_of_another_vendor_stops_the_batch(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows(mails(2))
    with OpenAIBatchServer(reply) as server:
        other = {**environ(server, "openai"), "NJC_MODEL": "anthropic/claude-sonnet-4-6"}
        printed = here.batch(*flags("openai"), environ=other, code=2)
    assert "--vendor-batch openai cannot ask anthropic/claude-sonnet-4-6" in printed


def test_a_batch_does_not_go_on_at_another_vendor(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows(mails(2))
    with OpenAIBatchServer(reply) as first, AnthropicBatchServer(reply) as second:
        wrong = {**environ(first, "openai"), "OPENAI_API_KEY": "sk-wrong"}
        here.batch(*flags("openai"), environ=wrong, code=3)
        other = {**environ(first, "openai"), **environ(second, "anthropic")}
        printed = here.batch(*flags("anthropic"), "--retry", environ=other, code=2)
        assert (
            "rows wait for replies of openai/gpt-4.1; continue with --vendor-batch openai"
            in printed
        )
        assert second.creations == 0


@every_vendor
def test_a_request_that_fits_into_no_batch_fails_its_row(
    here: BatchWorkplace, vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = BatchLimits(requests=2, bytes=2_300, overhead=200)
    monkeypatch.setattr(type(make_vendor(vendor)), "limits", small)
    here.write_program()
    here.write_rows([*mails(3), {"mail": "mail 3 " + 9_000 * "x"}])
    with SERVERS[vendor](reply) as server:
        here.batch(*flags(vendor), environ=environ(server, vendor), code=1)
        assert max(len(batch.requests) for batch in server.batches.values()) == 1
    *done, failed = here.read_results()
    assert [line["result"] for line in done] == [expect(n) for n in range(3)]
    assert "and a batch may have 2,300" in failed["error"]["message"]


def test_a_wrong_key_stops_the_batch(here: BatchWorkplace) -> None:
    here.write_program()
    here.write_rows(mails(2))
    with OpenAIBatchServer(reply) as server:
        wrong = {**environ(server, "openai"), "OPENAI_API_KEY": "sk-wrong"}
        printed = here.batch(*flags("openai"), environ=wrong, code=3)
        assert "refused the key" in printed
        here.batch(*flags("openai"), environ=environ(server, "openai"))
    assert set(server.asked.values()) == {1}


def test_a_batch_for_anthropic_is_read_while_it_is_sent(tmp_path: Path) -> None:
    """The memory for the body of a batch does not grow with its requests."""
    peaks = []
    for count in (500, 5_000):
        path = tmp_path / f"{count}.jsonl"
        lines = [
            AnthropicBatches().write_line(f"r{n}", '{"text": "%s"}' % ("x" * 2000))
            for n in range(count)
        ]
        path.write_text("".join(f"{line}\n" for line in lines))
        assert json.loads(b"".join(RequestsBody(path).read_pieces())) == {
            "requests": list(map(json.loads, lines))
        }
        tracemalloc.start()
        assert sum(map(len, RequestsBody(path).read_pieces())) > 2000 * count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 50_000


INVALID = '''\
def sort_mail(mail: str) -> str:
    """natural
    Put into <:kind: str> what <mail> is about.
    """
    return kind
'''

LOOPS = '''\
async def sort_all(mails: list[str], fails: bool = False) -> list[str]:
    kinds = []
    for mail in mails:
        """natural
        Put into <:kind: str> what <mail> is about.
        """
        kinds.append(kind)
    if fails:
        raise KeyError(kinds[-1])
    return kinds
'''


@every_vendor
def test_a_block_in_a_loop_takes_a_wave_a_round(here: BatchWorkplace, vendor: str) -> None:
    here.write_program(LOOPS)
    here.write_rows(
        [
            {"mails": ["mail 1", "mail 2", "mail 1"]},
            {"mails": ["mail 3"], "fails": True},
            {"mails": []},
            {"mails": ["mail 4", "mail 5"]},
        ]
    )
    with SERVERS[vendor](reply) as server:
        target = "prog.njpy:sort_all"
        printed = here.batch(*flags(vendor), environ=environ(server, vendor), target=target, code=1)
    first, failed, empty, last = here.read_results()
    assert [first["result"], empty["result"], last["result"]] == [
        ["k1", "k2", "k1"],
        [],
        ["k4", "k5"],
    ]
    assert failed["error"]["type"] == "KeyError"
    assert [line["usage"]["calls"] for line in here.read_results()] == [3, 1, 0, 2]
    assert "6 requests in 3 batches, 3 waves" in printed


RANDOM = '''\
import itertools
numbers = itertools.count()

def guess(mail: str) -> str:
    number = next(numbers)
    """natural
    Put into <:kind: str> what <mail> is about, <number>.
    """
    return kind


def swallow(mail: str) -> str:
    try:
        """natural
        Put into <:kind: str> what <mail> is about.
        """
    except BaseException:
        return "swallowed"
    return kind
'''


def test_a_function_that_asks_something_else_each_time_fails(here: BatchWorkplace) -> None:
    here.write_program(RANDOM)
    here.write_rows(mails(1))
    with OpenAIBatchServer(reply) as server:
        here.batch(
            *flags("openai"), environ=environ(server, "openai"), code=1, target="prog.njpy:guess"
        )
    (line,) = here.read_results()
    assert "asks something different each time" in line["error"]["message"]
    assert not server.asked, "it is found out before anything is paid for"


CHANGING = """\
import njrt

passes = []


def ask(mail: str) -> int:
    passes.append(mail)
    return njrt.llm(f"Put urgency, day {len(passes) // 2}. {mail}", int)
"""


@every_vendor
def test_replies_that_no_pass_uses_are_billed(here: BatchWorkplace, vendor: str) -> None:
    """The two passes of a wave ask the same, and those of the next wave something else."""
    here.write_program(CHANGING.replace("// 2", "// 2 - (len(passes) + 1) % 2"))
    here.write_rows(mails(1))
    settings = {"code": 1, "target": "prog.njpy:ask"}
    with SERVERS[vendor](reply) as server:
        printed = here.batch(*flags(vendor), environ=environ(server, vendor), **settings)
        (line,) = here.read_results()
        assert "asks something different each time" in line["error"]["message"]
        assert line["usage"]["calls"] == sum(server.answered.values()) == MAX_IDLE_PASSES
        assert f"{MAX_IDLE_PASSES} model calls, {MAX_IDLE_PASSES * 1020:,} tokens" in printed
        here.write_program(CHANGING)  # --max-usd takes one more pass at first
        limits = ("--fresh", "--max-usd", str(2.2 * line["usage"]["usd"] / MAX_IDLE_PASSES))
        here.batch(
            *flags(vendor), *limits, environ=environ(server, vendor), **settings | {"code": 3}
        )
        assert sum(server.answered.values()) == MAX_IDLE_PASSES + 2


def test_a_reply_to_a_row_that_has_changed_is_billed_once(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"mail": "mail 1"}\n')
    (row,) = read_rows(tmp_path / "rows.jsonl")
    with open_batch_store(tmp_path / "state") as store:
        store.match_rows([row])
        journal = RequestJournal(store)
        journal.put_waiting(row, [WaitingRequest("key", 1, "gpt-4.1", "{}")], 0, 0.0)
        journal.plan_batches(BatchLimits(10, 1000, 10), 0.0)
        journal.set_batch_state(1, "submitted", "batch_1", 0.0)
        ((name, _),) = journal.iterate_requests(1)
        with store.connection:
            store.forget_requests(row.index)
        answer = StoredReply("{}", usage=RowUsage(1, 10, 2, 0.5))
        journal.end_batch(1, [(name, answer), (name, answer), ("foreign", answer)], 0.0, 8)
        assert store.read_counts().usage == RowUsage(1, 10, 2, 0.5)


def test_a_function_that_swallows_exceptions_is_suspended_too(here: BatchWorkplace) -> None:
    here.write_program(RANDOM)
    here.write_rows(mails(2))
    with OpenAIBatchServer(reply) as server:
        here.batch(*flags("openai"), environ=environ(server, "openai"), target="prog.njpy:swallow")
    assert [line["result"] for line in here.read_results()] == ["k0", "k1"]
