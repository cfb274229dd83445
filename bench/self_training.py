"""Self-training on repairs with weights, as NExT does it (Ni et al. 2024, https://arxiv.org/abs/2404.14662), in two turns.

    spsbench mutants mbpp.jsonl --out mutants.jsonl
    python bench/self_training.py --work WORK --weights model.gguf --mutants mutants.jsonl --data humanevalfix.jsonl --data quixbugs.jsonl
    python bench/self_training.py --show spsbench/results/training/qwen2.5-coder-1.5b.jsonl

    turn 0: the model repairs mutants, several times each    ->  the repairs that pass their tests
    turn 1: LoRA is trained on these repairs                 ->  it repairs the same mutants
    turn 2: LoRA is trained on the repairs of both turns

This is done once with the steps of the failing run in the questions (`trace`) and once without (`test`), with the prompts and
tests of `spsbench repair` and equal budgets. Each turn is measured on mutants outside the training and on the data. Every
turn is trained from the first weights. An interrupted run continues with the next missing part.

It needs torch, gguf, tokenizers and a GPU with 40 GB (`--device cpu` and small numbers show that it runs), and reads the
weights of a Qwen2 model from a file of llama.cpp. A line of the results counts the repairs of one problem.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

from njc.evaluation.comparison.text import format_text_table
from njc.evaluation.repair.reply import read_rationale
from njc.evaluation.repair.testing import FailedTests, PassedTests, run_tests
from spsbench.repair.problems import RepairProblem
from spsbench.repair.prompt import SYSTEM_PROMPT, make_repair_prompt
from spsbench.repair.results import RepairSettings, RepairTrial
from spsbench.repair.solving import RepairJob, read_problems
from spsbench.report.by_problem import compare_rates, list_rate_cells
from spsbench.report.files import make_uniform
from spsbench.results import group_by
from spsbench.sampling import draw_sample

Key = TypeVar("Key", bound=Hashable)

CONDITIONS = ("trace", "test")
PROMPT_TOKENS = 1600
"""Longer questions are left out, under both conditions."""


# ── the questions, and the tests of replies ──────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Question:
    """A program to repair, as the model is asked."""

    group: str
    """`training`, `mutants`, or the name of a data set."""
    problem: str
    condition: str
    text: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One reply, and whether its program passes the tests."""

    problem: str
    text: str
    passed: bool
    input_tokens: int
    output_tokens: int


def write_questions(
    path: Path, problems: Sequence[tuple[str, RepairProblem]], seconds: float
) -> None:
    """Run each buggy program, and write its question under each condition."""

    def ask(group: str, problem: RepairProblem) -> list[Question]:
        outcome = run_tests(problem.code, problem.tests, seconds, traces=True)
        if not isinstance(outcome, FailedTests):
            return []
        return [
            Question(
                group,
                problem.name,
                name,
                make_repair_prompt(name, problem.code, outcome),  # type: ignore[arg-type]
            )
            for name in CONDITIONS
        ]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [each for some in pool.map(lambda pair: ask(*pair), problems) for each in some]
    write_lines(path, map(asdict, found))


def list_problems(
    options: argparse.Namespace,
) -> Iterator[tuple[str, RepairProblem]]:
    """Yield the problems with their groups: mutants to train on, other mutants, and the data."""
    mutants, _ = read_problems([options.mutants])
    shuffled = random.Random(options.seed).sample(sorted(mutants), len(mutants))
    kept = options.held_out
    for group, names in (
        ("mutants", shuffled[:kept]),
        ("training", shuffled[kept:][: options.train]),
    ):
        for name in names:
            yield group, mutants[name]
    for path in options.data:
        problems, _ = read_problems([path])
        uniform = random.Random(options.seed).random
        chosen = draw_sample(
            problems.values(),
            lambda each: each.name,
            lambda each: each.kind,
            options.sample,
            uniform,
        )
        for each in chosen:
            yield each.name.partition("/")[0], each


class Judge:
    """Tests of replies in processes; equal programs of a problem are tested once."""

    def __init__(self, problems: Mapping[str, RepairProblem], seconds: float) -> None:
        settings = RepairSettings(test_seconds=seconds)
        self._jobs = {
            name: RepairJob(RepairTrial(name, "test", "", 1), problem, settings)
            for name, problem in problems.items()
        }
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._verdicts: dict[tuple[str, str], Future[bool]] = {}

    def submit(self, name: str, text: str) -> Future[bool]:
        """Begin to test a reply."""
        job = self._jobs[name]
        code = job.read_reply(text).code
        if (name, code) not in self._verdicts:
            self._verdicts[name, code] = self._pool.submit(_passes, job, code)
        return self._verdicts[name, code]


def _passes(job: RepairJob, code: str) -> bool:
    return code != "" and isinstance(job.evaluate(code), PassedTests)


# ── training ─────────────────────────────────────────────────────────────────────────────────────


def choose_repairs(attempts: Iterable[Attempt], each: int, most: int, seed: int) -> list[Attempt]:
    """Return right repairs with a rationale, no two equal: at most `each` of a problem, and `most` in all."""
    by_problem: dict[str, dict[str, Attempt]] = defaultdict(dict)
    for attempt in attempts:
        if attempt.passed and read_rationale(attempt.text):
            by_problem[attempt.problem].setdefault(attempt.text, attempt)
    drawn = random.Random(seed)
    chosen = [
        attempt
        for found in by_problem.values()
        for attempt in drawn.sample(list(found.values()), min(each, len(found)))
    ]
    return drawn.sample(chosen, min(most, len(chosen)))


# ── the turns ────────────────────────────────────────────────────────────────────────────────────


def train_turns(options: argparse.Namespace) -> None:
    """Do all turns under both conditions, and write the results."""
    work: Path = options.work
    work.mkdir(parents=True, exist_ok=True)
    problems = list(list_problems(options))
    if not (work / "questions.jsonl").exists():
        write_questions(work / "questions.jsonl", problems, options.test_seconds)
    questions = [Question(**line) for line in read_lines(work / "questions.jsonl")]
    if options.weights is None:
        print(f"{len(questions)} questions; give --weights")
        return
    from qwen2 import Network, Sampler, encode_question, merge_lora

    network = Network(options.weights, options.device)
    log("read the weights")
    encoded = {
        (each.problem, each.condition): encode_question(network, SYSTEM_PROMPT, each.text)
        for each in questions
    }
    long = {problem for (problem, _), tokens in encoded.items() if len(tokens) > PROMPT_TOKENS}
    questions = [each for each in questions if each.problem not in long]
    log(f"{len(questions)} questions; {len(long)} problems have one that is too long")
    judge = Judge({each.name: each for _, each in problems}, options.test_seconds)
    length = PROMPT_TOKENS + options.reply_tokens + 32

    def repair(name: str, asked: Sequence[Question], samples: int, seed: int) -> list[Attempt]:
        """Sample repairs, test them and write them; read them if they are written."""
        path = work / f"{name}.jsonl"
        if path.exists():
            return [Attempt(**line) for line in read_lines(path)]
        began = time.monotonic()
        prompts = [encoded[each.problem, each.condition] for each in asked]
        found: list[tuple[int, str, int, Future[bool]]] = []
        sampler = Sampler(network, options.rows, length, seed)
        for number, tokens in sampler.sample(
            prompts, samples, options.reply_tokens, options.temperature
        ):
            text = network.tokenizer.decode(tokens)
            found.append((number, text, len(tokens), judge.submit(asked[number].problem, text)))
        del sampler
        sampled = time.monotonic() - began
        attempts = [
            Attempt(asked[number].problem, text, verdict.result(), len(prompts[number]), size)
            for number, text, size, verdict in found
        ]
        write_lines(path, map(asdict, attempts))
        right = sum(attempt.passed for attempt in attempts)
        log(
            f"{name}: {right} of {len(attempts)} pass; {sum(each.output_tokens for each in attempts):,} tokens in "
            f"{sampled:.0f} s, tests until {time.monotonic() - began:.0f} s"
        )
        return attempts

    first = network.layers
    kept: dict[str, list[Attempt]] = {condition: [] for condition in CONDITIONS}
    for turn in range(options.turns + 1):
        for condition in CONDITIONS:
            asked = [each for each in questions if each.condition == condition]
            if turn:
                lora = _read_or_train(network, options, turn, condition, encoded, kept[condition])
                network.layers = merge_lora(first, lora, options.alpha / options.rank)
            others = [each for each in asked if each.group != "training"]
            seed = options.seed + 10 * turn
            measured = repair(f"measured-{turn}-{condition}", others, options.samples, seed)
            write_results(options, turn, condition, others, measured)
            if turn < options.turns:
                mutants = [each for each in asked if each.group == "training"]
                kept[condition] += repair(
                    f"training-{turn}-{condition}", mutants, options.tries, seed + 1
                )
            network.layers = first


def _read_or_train(
    network: Any,
    options: argparse.Namespace,
    turn: int,
    condition: str,
    encoded: Mapping[tuple[str, str], list[int]],
    attempts: Sequence[Attempt],
) -> Any:
    """Return the LoRA of a turn, and write it and its line if it is not written."""
    from qwen2 import LoraSettings, read_adapter, train_lora, write_adapter

    path = options.work / f"lora-{turn}-{condition}.gguf"
    if path.exists():
        return read_adapter(path, options.device)
    began = time.monotonic()
    chosen = choose_repairs(attempts, options.each, options.most, options.seed)
    if not chosen:
        raise SystemExit(
            f"turn {turn}, {condition}: no repair passes, so there is nothing to train on"
        )
    end = network.tokenizer.token_to_id("<|im_end|>")
    pairs = [
        (encoded[each.problem, condition], [*network.tokenizer.encode(each.text).ids, end])
        for each in chosen
    ]
    names = [each.name for each in fields(LoraSettings)]
    settings = LoraSettings(**{name: getattr(options, name) for name in names})
    lora, losses = train_lora(network, pairs, settings)
    write_adapter(path, lora, options.alpha)
    size = len(losses) // 10 or 1
    log(
        f"turn {turn}, {condition}: trained on {len(pairs)} repairs of {len({each.problem for each in chosen})} "
        f"mutants in {time.monotonic() - began:.0f} s; loss {sum(losses[:size]) / size:.3f} -> "
        f"{sum(losses[-size:]) / size:.3f}"
    )
    line = {
        "kind": "training",
        "turn": turn,
        "condition": condition,
        "sampled": len(attempts),
        "passed": sum(attempt.passed for attempt in attempts),
        "repairs": len(pairs),
        "mutants": len({each.problem for each in chosen}),
        "tokens": sum(len(prompt) + len(reply) for prompt, reply in pairs),
        "loss": [round(loss, 4) for loss in losses],
        "seconds": round(time.monotonic() - began, 1),
    }
    write_lines(options.work / "results.jsonl", [line], "a")
    return lora


def write_results(
    options: argparse.Namespace,
    turn: int,
    condition: str,
    asked: Sequence[Question],
    attempts: Sequence[Attempt],
) -> None:
    """Append a line for each problem, unless the file has them."""
    path = options.work / "results.jsonl"
    earlier = read_lines(path) if path.exists() else []
    if not earlier:
        import torch

        device = torch.cuda.get_device_name() if options.device == "cuda" else "cpu"
        names = "seed temperature samples tries reply_tokens train held_out each most rank alpha rate epochs batch test_seconds"
        settings = {name: getattr(options, name) for name in names.split()}
        head = {
            "kind": "self-training",
            "note": options.note,
            "date": date.today().isoformat(),
            "model": options.weights.name,
        }
        write_lines(
            path,
            [{**head, "device": device, "torch": torch.__version__, "settings": settings}],
            "a",
        )
    if any(
        line["kind"] == "problem" and (line["turn"], line["condition"]) == (turn, condition)
        for line in earlier
    ):
        return
    by_problem: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        by_problem[attempt.problem].append(attempt)
    write_lines(
        path,
        (
            {
                "kind": "problem",
                "turn": turn,
                "condition": condition,
                "group": each.group,
                "problem": each.problem,
                **count_attempts(by_problem[each.problem], options.reply_tokens),
            }
            for each in asked
        ),
        "a",
    )


def count_attempts(attempts: Sequence[Attempt], limit: int) -> dict[str, int]:
    """Count the replies to one question; a complete reply has code and ends before the limit of tokens."""
    complete = [each for each in attempts if each.output_tokens < limit and "```" in each.text]
    return {
        "samples": len(attempts),
        "passed": sum(each.passed for each in attempts),
        "complete": len(complete),
        "passed_complete": sum(each.passed for each in complete),
        "at_limit": sum(each.output_tokens >= limit for each in attempts),
        "copying_steps": sum("# (" in each.text for each in attempts),
        "input_tokens": attempts[0].input_tokens,
        "output_tokens": sum(each.output_tokens for each in attempts),
    }


# ── files and tables ─────────────────────────────────────────────────────────────────────────────

_STARTED = time.monotonic()


def log(text: str) -> None:
    print(f"[{time.monotonic() - _STARTED:6.0f} s] {text}", flush=True)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, lines: Iterable[Mapping[str, Any]], mode: str = "w") -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    if mode == "a":
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    else:
        unfinished = path.with_suffix(".part")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--show", type=Path, help="print the table of a file")
    add("--work", type=Path, help="folder of the questions, repairs, weights and results")
    add(
        "--weights",
        type=Path,
        help="a Qwen2 model, as a file of llama.cpp; without it, only the questions are written",
    )
    add("--mutants", type=Path, help="the file of `spsbench mutants`")
    add("--data", type=Path, action="append", default=[], help="problems to measure")
    add("--device", default="cuda")
    add("--turns", type=int, default=2)
    add("--train", type=int, default=630, help="mutants to train on")
    add("--held-out", type=int, default=100, help="other mutants, to measure")
    add("--sample", type=int, help="only N problems of each file of --data")
    add("--samples", type=int, default=5, help="repairs of each problem that is measured")
    add("--tries", type=int, default=4, help="repairs of each mutant to train on, in each turn")
    add("--temperature", type=float, default=0.8)
    add("--reply-tokens", type=int, default=512)
    add("--test-seconds", type=float, default=5.0)
    add("--rows", type=int, default=512, help="replies that are written at a time")
    add("--each", type=int, default=2, help="repairs of a mutant to train on")
    add("--most", type=int, default=600, help="repairs to train on")
    add("--rank", type=int, default=8)
    add("--alpha", type=float, default=16.0)
    add("--rate", type=float, default=2e-4)
    add("--epochs", type=int, default=2)
    add("--batch", type=int, default=16)
    add("--micro", type=int, default=4, help="repairs in memory at a time")
    add("--seed", type=int, default=0)
    add("--note", default="", help="a remark in the results")
    options = parser.parse_args()
    if options.show is not None:
        print(format_table(read_lines(options.show)))
    elif options.work is None or options.mutants is None:
        print("self_training: give --work, --weights, --mutants and --data")
    else:
        train_turns(options)


def format_table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return pass@1 and pass@k by data, condition and turn, and how much more pass than in turn 0 and without traces."""
    tokens: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for line in lines:
        if line["kind"] == "problem":
            key = line["group"], line["condition"], line["turn"]
            tokens[key].append(line["input_tokens"] + line["output_tokens"] / line["samples"])
    passes = group_turns(lines, lambda line: (line["group"], line["condition"], line["turn"]))
    rows = []
    for key in sorted(passes, key=lambda key: (key[0], CONDITIONS.index(key[1]), key[2])):
        group, condition, turn = key
        problems, _, once, interval, several, _ = list_rate_cells(passes[key])
        first, without = passes[group, condition, 0], passes.get((group, "test", turn), {})
        rows.append(
            (
                *(group, condition, str(turn), problems, once, interval, several),
                f"{fmean(tokens[key]):,.0f}",
                format_lead(passes[key], first) if turn else "",
                format_lead(passes[key], without) if condition == "trace" else "",
            )
        )
    samples = max((line["samples"] for line in lines if line["kind"] == "problem"), default=1)
    headings = ("data", "condition", "turn", "problems", "pass@1", "95 %", f"pass@{samples}")
    return format_text_table((*headings, "tokens", "more than turn 0", "more than `test`"), rows, 3)


def group_turns(
    lines: Sequence[Mapping[str, Any]], key: Callable[[Mapping[str, Any]], Key]
) -> dict[Key, dict[str, list[bool]]]:
    """Return the passes of each problem by a key, such as its condition and turn."""
    groups = group_by((line for line in lines if line["kind"] == "problem"), key)
    return {
        name: {
            line["problem"]: [at < line["passed"] for at in range(line["samples"])]
            for line in found
        }
        for name, found in groups.items()
    }


def format_lead(one: Mapping[str, list[bool]], other: Mapping[str, list[bool]]) -> str:
    """Return how much more pass, with the paired interval; "" if no problem has both."""
    found = compare_rates(one, other, make_uniform())
    if found is None or found.interval is None:
        return ""
    low, high = found.interval
    return f"{found.difference:+z.3f} ({low:+z.3f} to {high:+z.3f})"


if __name__ == "__main__":
    main()
