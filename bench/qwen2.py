"""A Qwen2 model in torch: read from a file of llama.cpp, sampled in large batches, and adapted by LoRA.

    network = Network(Path("model.gguf"), "cuda")
    Sampler(network, rows=512, length=2144, seed=0).sample(prompts, samples=4, ...)     replies of many prompts, as they end
    lora, losses = train_lora(network, [(prompt, reply), ...], LoraSettings(rank=8, ...))
    write_adapter(Path("adapter.gguf"), lora, alpha=16.0)                               for `llama-server --lora`

Weights are in bfloat16, prompts and replies are lists of tokens. It needs torch, gguf and tokenizers.
"""

from __future__ import annotations

import math
import os
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import torch
import torch.nn.functional as F
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers


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


Layer = dict[str, Any]
"""The weights of a layer by their names, such as `attn_q.weight`."""


class Network:
    """The weights of a model, read from a file of llama.cpp."""

    def __init__(self, path: Path, device: str) -> None:
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
        self.layers: list[Layer] = [
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


def encode_question(network: Network, instructions: str, question: str) -> list[int]:
    """Return the tokens of a conversation that the model continues."""
    turns = f"<|im_start|>system\n{instructions}<|im_end|>\n<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
    return list(network.tokenizer.encode(turns).ids)


def _rotate(values: Any, cosines: Any, sines: Any) -> Any:
    """Apply rotary positions; the last axis is a head."""
    first, second = values.chunk(2, -1)
    return torch.cat((first * cosines - second * sines, second * cosines + first * sines), -1)


def _apply_linear(
    layer: Mapping[str, Any], number: int, name: str, values: Any, lora: Lora, scale: float
) -> Any:
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


def merge_lora(layers: Sequence[Layer], lora: Lora, scale: float) -> list[Layer]:
    """Return the layers with the change of LoRA added to their weights."""
    merged = [dict(layer) for layer in layers]
    for key, (down, up) in lora.items():
        number, name = key.split(".")
        layer, name = merged[int(number)], f"{name}.weight"
        layer[name] = layer[name] + (up @ down * scale).to(layer[name].dtype)
    return merged


# ── sampling: rows of a batch that are filled again when a reply ends ────────────────────────────


@dataclass(slots=True)
class _Row:
    number: int = -1
    """Of the question; -1 if the row is free."""
    tokens: list[int] = field(default_factory=list)


class Sampler:
    """Samples replies of many questions in one batch."""

    def __init__(self, network: Network, rows: int, length: int, seed: int) -> None:
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
        logits, tokens = (hidden @ self.network.output.T).topk(40, -1)
        if temperature == 0:
            return tokens[:, 0]
        logits = logits.float()
        plain = logits.softmax(-1)
        is_cut = (plain.cumsum(-1) - plain > 0.95) | (plain < 0.05 * plain[:, :1])
        shares = (logits / temperature).masked_fill(is_cut, -math.inf).softmax(-1)
        return tokens.gather(1, torch.multinomial(shares, 1, generator=self.generator))[:, 0]


# ── LoRA ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class LoraSettings:
    """How LoRA is trained."""

    rank: int
    alpha: float
    rate: float
    epochs: int
    batch: int
    micro: int
    """Pairs in memory at a time."""
    seed: int

    @property
    def scale(self) -> float:
        return self.alpha / self.rank


def train_lora(
    network: Network, pairs: Sequence[tuple[list[int], list[int]]], settings: LoraSettings
) -> tuple[Lora, list[float]]:
    """Train LoRA on the replies to questions; return it with the loss of each step."""
    torch.manual_seed(settings.seed)
    lora: dict[str, tuple[Any, Any]] = {}
    for number, layer in enumerate(network.layers):
        for name in LINEAR:
            outputs, inputs = layer[f"{name}.weight"].shape
            down = torch.randn(settings.rank, inputs, device=network.device) / math.sqrt(inputs)
            up = torch.zeros(outputs, settings.rank, device=network.device)
            lora[f"{number}.{name}"] = (down.requires_grad_(), up.requires_grad_())
    parameters = [each for pair in lora.values() for each in pair]
    optimizer = torch.optim.AdamW(parameters, lr=settings.rate, weight_decay=0.0)
    drawn = random.Random(settings.seed)
    batches = [
        shuffled[first : first + settings.batch]
        for _ in range(settings.epochs)
        for shuffled in [drawn.sample(list(pairs), len(pairs))]
        for first in range(0, len(pairs), settings.batch)
    ]

    def attend(layer: int, q: Any, k: Any, v: Any) -> Any:
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return seen.transpose(1, 2).flatten(2)

    losses = []
    for step, batch in enumerate(batches):
        share = min(1.0, (step + 1) / max(1, len(batches) // 20))
        rate = settings.rate * share * (1 - step / len(batches))
        for group in optimizer.param_groups:
            group["lr"] = rate
        total, count = 0.0, sum(len(reply) for _, reply in batch)
        for first in range(0, len(batch), settings.micro):
            part = batch[first : first + settings.micro]
            longest = max(len(prompt) + len(reply) for prompt, reply in part)
            tokens = torch.zeros(len(part), longest, dtype=torch.long)
            is_reply = torch.zeros(len(part), longest, dtype=torch.bool)
            for at, (prompt, reply) in enumerate(part):
                tokens[at, : len(prompt) + len(reply)] = torch.tensor(prompt + reply)
                is_reply[at, len(prompt) : len(prompt) + len(reply)] = True
            tokens, is_reply = tokens.to(network.device), is_reply.to(network.device)
            positions = torch.arange(longest, device=network.device)[None]
            hidden = run_layers(network, tokens, attend, positions, lora, settings.scale)
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
    reader = gguf.GGUFReader(str(path))
    found = {tensor.name: torch.from_numpy(tensor.data.copy()) for tensor in reader.tensors}
    names = [name.removesuffix(".lora_a") for name in found if name.endswith(".lora_a")]
    return {
        name.removeprefix("blk.").removesuffix(".weight"): tuple(
            found[f"{name}.lora_{end}"].to(device, torch.float32) for end in "ab"
        )
        for name in names
    }
