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
import math
import os
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Any

from njc.evaluation.comparison.text import format_text_table
from njc.evaluation.repair.annotate import remove_step_comments
from njc.evaluation.repair.reply import complete_program, find_program, read_rationale
from njc.evaluation.repair.testing import FailedTests, PassedTests, run_tests
from spsbench.repair.problems import RepairProblem, parse_repair_problems
from spsbench.repair.prompt import SYSTEM_PROMPT, make_repair_prompt
from spsbench.report.by_problem import compare_rates, list_rate_cells
from spsbench.report.files import make_uniform
from spsbench.sampling import draw_sample

CONDITIONS = ("trace", "test")
TURNS = (0, 1, 2)
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
    mutants = {each.name: each for each in _read_problems(options.mutants)}
    shuffled = random.Random(options.seed).sample(sorted(mutants), len(mutants))
    kept = options.held_out
    for group, names in (
        ("mutants", shuffled[:kept]),
        ("training", shuffled[kept:][: options.train]),
    ):
        for name in names:
            yield group, mutants[name]
    for path in options.data:
        problems = list(_read_problems(path))
        uniform = random.Random(options.seed).random
        chosen = draw_sample(
            problems, lambda each: each.name, lambda each: each.kind, options.sample, uniform
        )
        for each in chosen:
            yield each.name.partition("/")[0], each


def _read_problems(path: Path) -> Iterator[RepairProblem]:
    with path.open(encoding="utf-8") as file:
        yield from parse_repair_problems(file)


class Judge:
    """Tests of replies in processes; equal programs of a problem are tested once."""

    def __init__(self, problems: Mapping[str, RepairProblem], seconds: float) -> None:
        self._problems = problems
        self._seconds = seconds
        self._pool = ThreadPoolExecutor(os.cpu_count())
        self._verdicts: dict[tuple[str, str], Future[bool]] = {}

    def submit(self, name: str, text: str) -> Future[bool]:
        """Begin to test a reply."""
        problem = self._problems[name]
        code = remove_step_comments(find_program(text, problem.entry_point))
        if (name, code) not in self._verdicts:
            self._verdicts[name, code] = self._pool.submit(self._run, problem, code)
        return self._verdicts[name, code]

    def _run(self, problem: RepairProblem, code: str) -> bool:
        if not code:
            return False
        program = complete_program(code, problem.code)
        return isinstance(run_tests(program, problem.tests, self._seconds), PassedTests)


# ── the model: Qwen2 in torch, with LoRA ─────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a Qwen2 model."""

    layers: int
    heads: int
    kv_heads: int
    width: int
    rope_base: float
    epsilon: float

    @property
    def head_width(self) -> int:
        return self.width // self.heads


class Network:
    """The weights of a model, read from a file of llama.cpp."""

    def __init__(self, path: Path, device: str) -> None:
        import gguf
        import torch

        reader = gguf.GGUFReader(str(path))

        def read(name: str) -> Any:
            return reader.fields[name].contents()

        self.device = device
        self.shape = Shape(
            read("qwen2.block_count"),
            read("qwen2.attention.head_count"),
            read("qwen2.attention.head_count_kv"),
            read("qwen2.embedding_length"),
            read("qwen2.rope.freq_base"),
            read("qwen2.attention.layer_norm_rms_epsilon"),
        )
        self.tokenizer = _make_tokenizer(
            read("tokenizer.ggml.tokens"),
            read("tokenizer.ggml.merges"),
            read("tokenizer.ggml.token_type"),
        )
        names = {tensor.name for tensor in reader.tensors}

        def load(tensor: Any) -> tuple[str, Any]:
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            return tensor.name, torch.from_numpy(values).to(device, torch.bfloat16)

        # The embeddings are those of the output: it has the same weights in more bits.
        wanted = [
            each
            for each in reader.tensors
            if each.name != "token_embd.weight" or "output.weight" not in names
        ]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            loaded = dict(pool.map(load, wanted))
        self.output = loaded["output.weight" if "output.weight" in names else "token_embd.weight"]
        self.norm = loaded["output_norm.weight"]
        self.layers = [
            {name.removeprefix(prefix): loaded[name] for name in loaded if name.startswith(prefix)}
            for prefix in (f"blk.{number}." for number in range(self.shape.layers))
        ]
        half = self.shape.head_width // 2
        self.frequencies = self.shape.rope_base ** (
            -torch.arange(half, device=device, dtype=torch.float32) / half
        )


LINEAR = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
"""The layers that LoRA adapts."""
Lora = Mapping[str, tuple[Any, Any]]
"""Two matrices for each adapted layer, named as `3.attn_q`: the change is `b @ a`, scaled."""


def _make_tokenizer(tokens: list[str], merges: list[str], kinds: list[int]) -> Any:
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
    )

    pairs = [tuple(merge.split(" ", 1)) for merge in merges]
    tokenizer = Tokenizer(models.BPE({token: at for at, token in enumerate(tokens)}, pairs))
    tokenizer.normalizer = normalizers.NFC()
    # The rule of Qwen2 for words, digits and spaces.
    rule = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(rule), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True)
            for token, kind in zip(tokens, kinds, strict=True)
            if kind == 3
        ]
    )
    return tokenizer


def encode_question(network: Network, text: str) -> list[int]:
    """Return the tokens of a conversation that the model continues."""
    turns = f"<|im_start|>system\n{SYSTEM_PROMPT}<|im_end|>\n<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
    return list(network.tokenizer.encode(turns).ids)


def _rotate(values: Any, cosines: Any, sines: Any) -> Any:
    """Apply rotary positions; the last axis is a head."""
    import torch

    first, second = values.chunk(2, -1)
    return torch.cat((first * cosines - second * sines, second * cosines + first * sines), -1)


def _apply_linear(
    layer: Mapping[str, Any], number: int, name: str, values: Any, lora: Lora, scale: float
) -> Any:
    import torch.nn.functional as F

    result = F.linear(values, layer[f"{name}.weight"], layer.get(f"{name}.bias"))
    if f"{number}.{name}" in lora:
        down, up = lora[f"{number}.{name}"]
        result = (
            result + F.linear(F.linear(values, down.to(values.dtype)), up.to(values.dtype)) * scale
        )
    return result


def run_layers(
    network: Network, tokens: Any, attend: Any, positions: Any, lora: Lora, scale: float
) -> Any:
    """Return the last hidden states of `tokens` (rows x length).

    `attend(number, q, k, v)` gets rows x length x heads x width, and returns rows x length x (heads * width).
    """
    import torch.nn.functional as F

    shape = network.shape
    rows, length = tokens.shape
    angles = positions.to(network.frequencies.dtype)[..., None] * network.frequencies
    cosines, sines = (
        part.to(network.norm.dtype)[:, :, None] for part in (angles.cos(), angles.sin())
    )
    hidden = F.embedding(tokens, network.output)
    for number, layer in enumerate(network.layers):
        values = F.rms_norm(hidden, (shape.width,), layer["attn_norm.weight"], shape.epsilon)
        q, k, v = (
            _apply_linear(layer, number, name, values, lora, scale).view(
                rows, length, -1, shape.head_width
            )
            for name in LINEAR[:3]
        )
        seen = attend(number, _rotate(q, cosines, sines), _rotate(k, cosines, sines), v)
        hidden = hidden + _apply_linear(layer, number, "attn_output", seen, lora, scale)
        values = F.rms_norm(hidden, (shape.width,), layer["ffn_norm.weight"], shape.epsilon)
        gate = _apply_linear(layer, number, "ffn_gate", values, lora, scale)
        up = _apply_linear(layer, number, "ffn_up", values, lora, scale)
        hidden = hidden + _apply_linear(layer, number, "ffn_down", F.silu(gate) * up, lora, scale)
    return F.rms_norm(hidden, (shape.width,), network.norm, shape.epsilon)


def merge_lora(network: Network, lora: Lora, scale: float) -> None:
    """Add the change of LoRA to the weights; a negative scale takes it away, up to rounding."""
    for key, (down, up) in lora.items():
        number, name = key.split(".")
        network.layers[int(number)][f"{name}.weight"] += (up @ down * scale).to(network.norm.dtype)


# ── sampling: rows of a batch that are filled again when a reply ends ────────────────────────────


@dataclass(slots=True)
class _Row:
    number: int = -1
    """Of the question; -1 if the row is free."""
    tokens: list[int] = field(default_factory=list)


class Sampler:
    """Samples replies of many questions in one batch."""

    def __init__(self, network: Network, rows: int, length: int, seed: int) -> None:
        import torch

        shape = network.shape
        size = (shape.layers, rows, shape.kv_heads, length, shape.head_width)
        self.network = network
        self.keys, self.values = (
            torch.zeros(size, dtype=network.norm.dtype, device=network.device) for _ in range(2)
        )
        self.rows, self.length = rows, length
        self.end = network.tokenizer.token_to_id("<|im_end|>")
        self.generator = torch.Generator(network.device).manual_seed(seed)

    def sample(
        self, prompts: Sequence[list[int]], samples: int, limit: int, temperature: float
    ) -> Iterator[tuple[int, list[int]]]:
        """Yield the number of a prompt and the tokens of a reply, `samples` times for each prompt, as they end."""
        import torch

        device = self.network.device
        waiting = sorted(range(len(prompts)), key=lambda at: len(prompts[at]), reverse=True)
        todo = [at for at in waiting for _ in range(samples)]
        rows = [_Row() for _ in range(self.rows)]
        lengths = torch.zeros(self.rows, dtype=torch.long, device=device)
        last = torch.zeros(self.rows, dtype=torch.long, device=device)
        every = torch.arange(self.rows, device=device)
        while todo or any(row.number >= 0 for row in rows):
            free = [at for at, row in enumerate(rows) if row.number < 0]
            if todo and (len(free) >= self.rows // 8 or len(free) == self.rows):
                filled = list(zip(free, todo, strict=False))
                todo = todo[len(filled) :]
                for part in self._prefill(prompts, filled, temperature):
                    for at, number, token in part:
                        rows[at] = _Row(number, [token])
                        lengths[at], last[at] = len(prompts[number]), token
            used = [at for at, row in enumerate(rows) if row.number >= 0]
            # Reading some rows copies them, so free rows are read too while they are few.
            is_dense = len(used) > self.rows // 2
            active = every if is_dense else torch.tensor(used, device=device)
            if is_dense and len(used) < self.rows:
                lengths[torch.tensor(sorted({*range(self.rows)} - {*used}), device=device)] = 0
            longest = int(lengths[active].max()) + 1
            steps = min(16, self.length - longest)
            written = []
            for step in range(steps):
                tokens = self._step(
                    active, last[active], lengths[active], longest + step, temperature
                )
                last[active] = tokens
                lengths[active] += 1
                written.append(tokens)
            columns = torch.stack(written, 1).tolist() if written else [[] for _ in active]
            for at, column in zip(active.tolist(), columns, strict=True):
                if rows[at].number < 0:
                    continue
                row = rows[at]
                reply = [*row.tokens, *column]
                ended = self.end in reply
                if ended or len(reply) >= limit or not column:
                    yield row.number, reply[: reply.index(self.end)] if ended else reply[:limit]
                    rows[at] = _Row()
                else:
                    row.tokens = reply

    def _prefill(
        self, prompts: Sequence[list[int]], filled: list[tuple[int, int]], temperature: float
    ) -> Iterator[list[tuple[int, int, int]]]:
        """Read the prompts of new rows, each once, and yield each row with the number of its prompt and a first token."""
        import torch
        import torch.nn.functional as F

        targets: dict[int, list[int]] = defaultdict(list)
        for at, number in filled:
            targets[number].append(at)
        numbers = list(targets)
        for first in range(0, len(numbers), 16):
            chosen = numbers[first : first + 16]
            longest = max(len(prompts[number]) for number in chosen)
            padded = [prompts[number] + [0] * (longest - len(prompts[number])) for number in chosen]
            tokens = torch.tensor(padded, device=self.network.device)
            copies = torch.tensor(
                [len(targets[number]) for number in chosen], device=self.network.device
            )
            at = torch.tensor(
                [row for number in chosen for row in targets[number]], device=self.network.device
            )

            def attend(layer: int, q: Any, k: Any, v: Any) -> Any:
                k, v = k.transpose(1, 2), v.transpose(1, 2)
                self.keys[layer, at, :, : k.shape[2]] = k.repeat_interleave(copies, 0)  # noqa: B023
                self.values[layer, at, :, : k.shape[2]] = v.repeat_interleave(copies, 0)  # noqa: B023
                seen = F.scaled_dot_product_attention(
                    q.transpose(1, 2), k, v, is_causal=True, enable_gqa=True
                )
                return seen.transpose(1, 2).flatten(2)

            positions = torch.arange(longest, device=self.network.device)[None]
            with torch.inference_mode():
                hidden = run_layers(self.network, tokens, attend, positions, {}, 0.0)
                ends = torch.tensor(
                    [len(prompts[number]) - 1 for number in chosen], device=self.network.device
                )
                final = hidden[torch.arange(len(chosen), device=self.network.device), ends]
                picked = self._pick(final.repeat_interleave(copies, 0), temperature).tolist()
            order = [number for number in chosen for _ in targets[number]]
            yield list(zip(at.tolist(), order, picked, strict=True))

    def _step(
        self, active: Any, tokens: Any, lengths: Any, longest: int, temperature: float
    ) -> Any:
        """Return the next tokens of the active rows."""
        import torch

        shape = self.network.shape
        is_hidden = torch.arange(longest, device=self.network.device)[None] > lengths[:, None]
        mask = torch.zeros(is_hidden.shape, dtype=torch.float32, device=self.network.device)
        mask = mask.masked_fill(is_hidden, -math.inf)[:, None, None]
        whole = len(active) == self.rows

        def attend(layer: int, q: Any, k: Any, v: Any) -> Any:
            keys, values = self.keys[layer], self.values[layer]
            keys[active, :, lengths] = k[:, 0]
            values[active, :, lengths] = v[:, 0]
            keys, values = (part[:, :, :longest] for part in (keys, values))
            if not whole:
                keys, values = keys[active], values[active]
            grouped = q[:, 0].unflatten(1, (shape.kv_heads, -1))
            scores = (grouped @ keys.transpose(2, 3)).float() / math.sqrt(shape.head_width) + mask
            return (scores.softmax(-1).to(q.dtype) @ values).flatten(1)[:, None]

        with torch.inference_mode():
            hidden = run_layers(self.network, tokens[:, None], attend, lengths[:, None], {}, 0.0)
            return self._pick(hidden[:, 0], temperature)

    def _pick(self, hidden: Any, temperature: float) -> Any:
        """Draw tokens as llama.cpp does by default: of the 40 most likely ones, those of 0.95 of the probability."""
        import torch

        logits, tokens = (hidden @ self.network.output.T).topk(40, -1)
        if temperature == 0:
            return tokens[:, 0]
        logits = logits.float()
        plain = logits.softmax(-1)
        is_cut = (plain.cumsum(-1) - plain > 0.95) | (plain < 0.05 * plain[:, :1])
        shares = (logits / temperature).masked_fill(is_cut, -math.inf).softmax(-1)
        return tokens.gather(1, torch.multinomial(shares, 1, generator=self.generator))[:, 0]


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


def train_lora(
    network: Network, pairs: Sequence[tuple[list[int], list[int]]], options: argparse.Namespace
) -> tuple[Lora, list[float]]:
    """Train LoRA on questions and replies; return it with the loss of each step."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(options.seed)
    lora: dict[str, tuple[Any, Any]] = {}
    for number, layer in enumerate(network.layers):
        for name in LINEAR:
            outputs, inputs = layer[f"{name}.weight"].shape
            down = torch.randn(options.rank, inputs, device=network.device) / math.sqrt(inputs)
            up = torch.zeros(outputs, options.rank, device=network.device)
            lora[f"{number}.{name}"] = (down.requires_grad_(), up.requires_grad_())
    parameters = [each for pair in lora.values() for each in pair]
    optimizer = torch.optim.AdamW(parameters, lr=options.rate, weight_decay=0.0)
    drawn = random.Random(options.seed)
    batches = [
        shuffled[first : first + options.batch]
        for _ in range(options.epochs)
        for shuffled in [drawn.sample(list(pairs), len(pairs))]
        for first in range(0, len(pairs), options.batch)
    ]

    def attend(layer: int, q: Any, k: Any, v: Any) -> Any:
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return seen.transpose(1, 2).flatten(2)

    losses = []
    for step, batch in enumerate(batches):
        share = min(1.0, (step + 1) / max(1, len(batches) // 20))
        rate = options.rate * share * (1 - step / len(batches))
        for group in optimizer.param_groups:
            group["lr"] = rate
        total, count = 0.0, sum(len(reply) for _, reply in batch)
        for first in range(0, len(batch), options.micro):
            part = batch[first : first + options.micro]
            longest = max(len(prompt) + len(reply) for prompt, reply in part)
            tokens = torch.zeros(len(part), longest, dtype=torch.long)
            is_reply = torch.zeros(len(part), longest, dtype=torch.bool)
            for at, (prompt, reply) in enumerate(part):
                tokens[at, : len(prompt) + len(reply)] = torch.tensor(prompt + reply)
                is_reply[at, len(prompt) : len(prompt) + len(reply)] = True
            tokens, is_reply = tokens.to(network.device), is_reply.to(network.device)
            positions = torch.arange(longest, device=network.device)[None]
            hidden = run_layers(
                network, tokens, attend, positions, lora, options.alpha / options.rank
            )
            logits = hidden[:, :-1][is_reply[:, 1:]] @ network.output.T
            loss = (
                F.cross_entropy(logits.float(), tokens[:, 1:][is_reply[:, 1:]], reduction="sum")
                / count
            )
            loss.backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(total)
    del optimizer
    if network.device == "cuda":
        torch.cuda.empty_cache()  # the next batch of replies needs large pieces
    return {key: (down.detach(), up.detach()) for key, (down, up) in lora.items()}, losses


def write_adapter(path: Path, lora: Lora, alpha: float) -> None:
    """Write LoRA as an adapter of llama.cpp: `llama-server -m model.gguf --lora adapter.gguf`."""
    import gguf

    unfinished = path.with_suffix(".part")
    writer = gguf.GGUFWriter(unfinished, "qwen2")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    for key, (down, up) in lora.items():
        for end, matrix in (("a", down), ("b", up)):
            writer.add_tensor(f"blk.{key}.weight.lora_{end}", matrix.half().cpu().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    unfinished.replace(path)


def read_adapter(path: Path, device: str) -> Lora:
    """Read what `write_adapter` wrote."""
    import gguf
    import torch

    reader = gguf.GGUFReader(str(path))
    found = {tensor.name: torch.from_numpy(tensor.data.copy()) for tensor in reader.tensors}
    names = [name.removesuffix(".lora_a") for name in found if name.endswith(".lora_a")]
    return {
        name.removeprefix("blk.").removesuffix(".weight"): tuple(
            found[f"{name}.lora_{end}"].to(device, torch.float32) for end in "ab"
        )
        for name in names
    }


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
    network = Network(options.weights, options.device)
    log("read the weights")
    encoded = {
        (each.problem, each.condition): encode_question(network, each.text) for each in questions
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

    kept: dict[str, list[Attempt]] = {condition: [] for condition in CONDITIONS}
    for turn in TURNS[: options.turns + 1]:
        for condition in CONDITIONS:
            asked = [each for each in questions if each.condition == condition]
            lora: Lora = {}
            scale = options.alpha / options.rank
            if turn:
                lora = _read_or_train(network, options, turn, condition, encoded, kept[condition])
                before = [dict(layer) for layer in network.layers]
                network.layers = [
                    {name: value.clone() for name, value in layer.items()}
                    for layer in network.layers
                ]
                merge_lora(network, lora, scale)
            others = [each for each in asked if each.group != "training"]
            seed = options.seed + 10 * turn
            measured = repair(f"measured-{turn}-{condition}", others, options.samples, seed)
            write_results(options, turn, condition, others, measured)
            if turn < options.turns:
                mutants = [each for each in asked if each.group == "training"]
                kept[condition] += repair(
                    f"training-{turn}-{condition}", mutants, options.tries, seed + 1
                )
            if turn:
                network.layers = before


def _read_or_train(
    network: Network,
    options: argparse.Namespace,
    turn: int,
    condition: str,
    encoded: Mapping[tuple[str, str], list[int]],
    attempts: Sequence[Attempt],
) -> Lora:
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
    lora, losses = train_lora(network, pairs, options)
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
    passes: dict[tuple[str, str, int], dict[str, list[bool]]] = defaultdict(dict)
    tokens: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for line in lines:
        if line["kind"] == "problem":
            key = line["group"], line["condition"], line["turn"]
            passes[key][line["problem"]] = [at < line["passed"] for at in range(line["samples"])]
            tokens[key].append(line["input_tokens"] + line["output_tokens"] / line["samples"])
    rows = []
    for key in sorted(passes, key=lambda key: (key[0], CONDITIONS.index(key[1]), key[2])):
        group, condition, turn = key
        problems, _, once, interval, several, _ = list_rate_cells(passes[key])
        first, without = passes[group, condition, 0], passes.get((group, "test", turn), {})
        rows.append(
            (
                *(group, condition, str(turn), problems, once, interval, several),
                f"{fmean(tokens[key]):,.0f}",
                _format_lead(passes[key], first) if turn else "",
                _format_lead(passes[key], without) if condition == "trace" else "",
            )
        )
    samples = max((line["samples"] for line in lines if line["kind"] == "problem"), default=1)
    headings = ("data", "condition", "turn", "problems", "pass@1", "95 %", f"pass@{samples}")
    return format_text_table((*headings, "tokens", "more than turn 0", "more than `test`"), rows, 3)


def _format_lead(one: Mapping[str, list[bool]], other: Mapping[str, list[bool]]) -> str:
    found = compare_rates(one, other, make_uniform())
    if found is None or found.interval is None:
        return ""
    low, high = found.interval
    return f"{found.difference:+.3f} ({low:+.3f} to {high:+.3f})"


if __name__ == "__main__":
    main()
