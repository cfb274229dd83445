"""Train the network from scratch.

    train(TrainingPlan(data, out, SIZES["small"], steps=6_000), show)

    out/curve.jsonl        a line every `every` steps: programs seen, loss, exact match held out
    out/model.npz          the network for `network` at the last of them

The rows of a batch, their order and the initial weights depend only on the seed: with one thread on
one machine, the same plan gives the same curve.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import traverse_util

from njrt.values.dataclass_json import to_json
from spsbench.neural import network as inference
from spsbench.neural.curve import CurvePoint
from spsbench.neural.dataset import read_part, read_texts, replace_file
from spsbench.neural.encoding import StepEncoder
from spsbench.neural.network import ROTATION_BASE, NetworkSize
from spsbench.neural.packing import (
    PackedRow,
    list_texts,
    pack_texts,
    pack_trajectory,
    parse_trajectory,
    stack_rows,
)
from spsbench.neural.vocabulary import Vocabulary, collect_vocabulary
from spsbench.results import InputError
from spsbench.states.trajectories import Trajectory

SIZES = {"tiny": (32, 1, 2), "small": (64, 2, 2), "medium": (128, 5, 4), "large": (256, 8, 8)}
"""Width, layers and heads."""
VOCABULARY_PROGRAMS = 2_000
VALID_PROGRAMS = 200
WARMUP = 100
DECAY = 0.2
"""The final share of the steps, over which the learning rate falls to zero."""
Batch = dict[str, Any]
"""Arrays from `packing`, by name."""
Weights = Any


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """The settings of a training."""

    data: Path
    out: Path
    size: str
    steps: int
    every: int = 250
    """Steps between points of the curve."""
    batch: int = 8
    length: int = 384
    """Tokens per row."""
    rate: float = 2e-3
    seed: int = 1


def train(plan: TrainingPlan, show: Callable[[str], None]) -> CurvePoint:
    """Train a network, and return the last point of the curve."""
    plan.out.mkdir(parents=True, exist_ok=True)
    if (plan.out / "model.npz").exists():
        raise InputError(f"{plan.out} has a network; choose another --out")
    texts = list(read_texts(plan.data / "train.jsonl"))
    vocabulary = collect_vocabulary(
        text
        for trajectory in map(parse_trajectory, texts[:VOCABULARY_PROGRAMS])
        for text in list_texts(trajectory)
    )
    trainer = _Trainer.begin(plan, vocabulary)
    valid = list(islice(read_part(plan.data, "valid"), VALID_PROGRAMS))
    batches = trainer.list_valid_batches(valid)
    prepared = trainer.prepare_batches(texts)
    while trainer.step < plan.steps:
        began, first = time.monotonic(), trainer.step
        last = min(plan.steps, first + plan.every - first % plan.every)
        losses = [trainer.train_batch(next(prepared)) for _ in range(first, last)]
        jax.block_until_ready(losses)  # type: ignore[no-untyped-call]
        seconds = time.monotonic() - began
        point = trainer.measure(batches, float(np.mean(jax.device_get(losses))), seconds)
        trainer.save(point)
        show(point.describe())
    return trainer.curve[-1]


def draw_order(seed: str) -> list[int]:
    """Return a random order for the states of a program."""
    order = list(range(64))
    Random(seed).shuffle(order)
    return order


@dataclass(slots=True)
class _Trainer:
    """A training (state: the weights, the optimizer, and the number of steps made)."""

    plan: TrainingPlan
    vocabulary: Vocabulary
    encoder: StepEncoder
    size: NetworkSize
    optimizer: optax.GradientTransformation
    weights: Weights
    moments: Any
    step: int = 0
    seconds: float = 0.0
    order: tuple[int, list[int]] = (-1, [])
    """An epoch, and the order of its programs."""
    curve: list[CurvePoint] = field(default_factory=list)

    @classmethod
    def begin(cls, plan: TrainingPlan, vocabulary: Vocabulary) -> _Trainer:
        """Return a training before its first step."""
        width, layers, heads = SIZES[plan.size]
        size = NetworkSize(len(vocabulary), width, layers, heads)
        empty = stack_rows([PackedRow()], plan.length)
        weights = Network(size).init(
            jax.random.PRNGKey(plan.seed),
            empty["tokens"],
            empty["positions"],
            find_seen(empty["states"], empty["actions"]),
        )
        rate = optax.join_schedules(
            [
                optax.linear_schedule(0.0, plan.rate, WARMUP),
                optax.linear_schedule(plan.rate, 0.0, max(1, round(plan.steps * DECAY))),
            ],
            [round(plan.steps * (1 - DECAY))],
        )
        optimizer = optax.chain(
            optax.clip_by_global_norm(1.0), optax.adamw(rate, b2=0.98, weight_decay=0.01)
        )
        moments = optimizer.init(weights)
        return cls(plan, vocabulary, StepEncoder(vocabulary), size, optimizer, weights, moments)

    def prepare_batches(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Yield the batches of all steps."""
        pack = partial(pack_texts, self.encoder, self.plan.length)
        chosen = (self._choose_texts(texts, step) for step in range(self.plan.steps))
        return map(pack, chosen)

    def _choose_texts(self, texts: Sequence[str], step: int) -> list[tuple[str, list[int]]]:
        chosen = []
        for number in range(step * self.plan.batch, (step + 1) * self.plan.batch):
            epoch, place = divmod(number, len(texts))
            if self.order[0] != epoch:
                places = list(range(len(texts)))
                Random(f"{self.plan.seed} {epoch}").shuffle(places)
                self.order = (epoch, places)
            order = draw_order(f"{self.plan.seed} {number}")
            chosen.append((texts[self.order[1][place]], order))
        return chosen

    def list_valid_batches(self, trajectories: Sequence[Trajectory]) -> list[Batch]:
        """Return the batches of held-out programs."""
        order, length = draw_order("valid"), self.plan.length
        rows = [
            row
            for each in trajectories
            if (row := pack_trajectory(self.encoder, each, length, order))
        ]
        size = self.plan.batch
        return [
            stack_rows((rows[place : place + size] + [PackedRow()] * size)[:size], self.plan.length)
            for place in range(0, len(rows), size)
        ]

    def train_batch(self, batch: Batch) -> Any:
        """Make a step, and return its loss."""
        self.weights, self.moments, loss = _make_step(
            Network(self.size), self.optimizer, self.weights, self.moments, batch
        )
        self.step += 1
        return loss

    def measure(self, batches: Sequence[Batch], loss: float, seconds: float) -> CurvePoint:
        found = [_measure_batch(Network(self.size), self.weights, batch) for batch in batches]
        totals = np.sum([list(map(float, each[:2])) for each in found], axis=0)
        right = np.concatenate(
            [_list_right(batch, each[2]) for batch, each in zip(batches, found, strict=True)]
        )
        self.seconds += seconds
        return CurvePoint(
            size=self.plan.size,
            parameters=sum(array.size for array in jax.tree.leaves(self.weights)),
            step=self.step,
            programs=self.step * self.plan.batch,
            train_loss=round(loss, 5),
            valid_loss=round(totals[0] / totals[1], 5),
            exact=round(float(right.mean()), 5),
            steps_held_out=len(right),
            seconds=round(self.seconds, 1),
            device=jax.devices()[0].device_kind,
        )

    def save(self, point: CurvePoint) -> None:
        """Write the network and the curve."""
        network = export_network(self.size, self.vocabulary, self.weights)
        replace_file(self.plan.out / "model.npz", inference.write_network(network))
        self.curve.append(point)
        text = "".join(f"{to_json(line)}\n" for line in self.curve)
        replace_file(self.plan.out / "curve.jsonl", text.encode())


def _score(network: nn.Module, weights: Weights, batch: Batch) -> tuple[Any, Any]:
    seen = find_seen(batch["states"], batch["actions"])
    scores: Any = network.apply(weights, batch["tokens"], batch["positions"], seen)
    scores = scores[:, :-1]
    wanted = batch["tokens"][:, 1:]
    losses = optax.softmax_cross_entropy_with_integer_labels(scores, wanted)
    return losses, scores.argmax(-1) == wanted


def _compute_loss(network: nn.Module, weights: Weights, batch: Batch) -> Any:
    losses, _ = _score(network, weights, batch)
    asked = batch["answers"][:, 1:]
    return (losses * asked).sum() / jnp.maximum(asked.sum(), 1)


@partial(jax.jit, static_argnums=(0, 1))
def _make_step(
    network: nn.Module, optimizer: Any, weights: Weights, moments: Any, batch: Batch
) -> tuple[Weights, Any, Any]:
    loss, slopes = jax.value_and_grad(partial(_compute_loss, network))(weights, batch)
    changes, moments = optimizer.update(slopes, moments, weights)
    return optax.apply_updates(weights, changes), moments, loss


@partial(jax.jit, static_argnums=0)
def _measure_batch(network: nn.Module, weights: Weights, batch: Batch) -> tuple[Any, Any, Any]:
    losses, right = _score(network, weights, batch)
    asked = batch["answers"][:, 1:]
    return (losses * asked).sum(), asked.sum(), right | (asked == 0)


def _list_right(batch: Batch, right: Any) -> Any:
    """Return for each answer in a batch whether it would be generated: all tokens are likeliest."""
    asked = batch["answers"][:, 1:] > 0
    branches = np.stack(
        [np.broadcast_to(np.arange(len(asked))[:, None], asked.shape)]
        + [batch[name][:, 1:] for name in ("states", "actions")],
        -1,
    )[asked]
    _, answers = np.unique(branches, axis=0, return_inverse=True)
    wrong = np.zeros(answers.max() + 1)
    np.add.at(wrong, answers.ravel(), ~np.asarray(right)[asked])
    return wrong == 0


def export_network(
    size: NetworkSize, vocabulary: Vocabulary, weights: Weights
) -> inference.Network:
    """Return trained weights as a network in numpy."""
    flatten: Any = traverse_util.flatten_dict
    flat: dict[str, Any] = flatten(weights["params"], sep=".")
    names = {name: name.rsplit(".", 1)[0] for name in flat}
    arrays = {names[name]: np.asarray(array) for name, array in flat.items()}
    return inference.Network(size, vocabulary, arrays)


# ── the network ───────────────────────────────────────────────────────────────────────────────────


Array = Any


class Block(nn.Module):
    """Attention and a feed-forward layer."""

    size: NetworkSize

    @nn.compact
    def __call__(self, x: Array, seen: Array, cos: Array, sin: Array) -> Array:
        width, heads = self.size.width, self.size.heads
        normed = nn.RMSNorm(name="norm_in")(x)
        query, key, value = jnp.split(
            nn.Dense(3 * width, use_bias=False, name="qkv")(normed), 3, -1
        )
        shape = (*x.shape[:-1], heads, width // heads)
        query, key = rotate(query.reshape(shape), cos, sin), rotate(key.reshape(shape), cos, sin)
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / (width // heads) ** 0.5
        weights = jax.nn.softmax(jnp.where(seen[:, None], scores, -1e9))
        mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value.reshape(shape)).reshape(x.shape)
        x = x + nn.Dense(width, use_bias=False, name="out")(mixed)
        inner = nn.Dense(4 * width, use_bias=False, name="up")(nn.RMSNorm(name="norm_up")(x))
        return x + nn.Dense(width, use_bias=False, name="down")(jnp.square(nn.relu(inner)))


class Network(nn.Module):
    """Returns the scores of the next token at each place."""

    size: NetworkSize

    @nn.compact
    def __call__(self, tokens: Array, positions: Array, seen: Array) -> Array:
        embed = nn.Embed(
            self.size.vocabulary,
            self.size.width,
            embedding_init=nn.initializers.normal(0.02),
            name="embed",
        )
        x = embed(tokens)
        cos, sin = make_rotation(positions, self.size.width // self.size.heads)
        for number in range(self.size.layers):
            x = Block(self.size, name=f"layer{number}")(x, seen, cos, sin)
        return embed.attend(nn.RMSNorm(name="norm_out")(x))


def make_rotation(positions: Array, width: int) -> tuple[Array, Array]:
    """Return the cosines and sines of rotary positions."""
    angles = positions[..., None] * ROTATION_BASE ** (-jnp.arange(0, width, 2) / width)
    return jnp.cos(angles)[:, :, None], jnp.sin(angles)[:, :, None]


def rotate(x: Array, cos: Array, sin: Array) -> Array:
    """Return queries or keys, rotated by their positions."""
    one, other = jnp.split(x, 2, -1)
    return jnp.concatenate([one * cos - other * sin, one * sin + other * cos], -1)


def find_seen(states: Array, actions: Array) -> Array:
    """Return which tokens each token sees: those before it on its own path."""
    causal = jnp.tril(jnp.ones((states.shape[1], states.shape[1]), bool))
    state, action = states[:, None], actions[:, None]
    own_state = (state == 0) | (state == states[..., None])
    own_action = (state == 0) | (action == 0) | (action == actions[..., None])
    return causal & own_state & own_action
