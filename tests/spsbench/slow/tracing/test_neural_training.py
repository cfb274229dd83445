"""Training a neural debugger: the seed gives the curve, numpy answers as JAX does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from spsbench.cli import main
from spsbench.neural.curve import read_curve
from spsbench.neural.dataset import find_ends, read_part, write_dataset
from spsbench.neural.encoding import StepEncoder
from spsbench.neural.network import load_network
from spsbench.neural.packing import pack_trajectory, stack_rows
from spsbench.states.trace import list_stacks

ENVIRON = {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_dataset(folder, 1, 400)
    return folder


def list_command(data: Path, out: Path, *more: str) -> list[str]:
    command = [sys.executable, "-m", "spsbench", "train", str(data), "--size", "tiny"]
    return [*command, "--steps", "20", "--every", "5", "--out", str(out), *more]


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    subprocess.run(list_command(data, out), env=ENVIRON, check=True, timeout=300)
    return out


def list_points(out: Path) -> list[dict[str, object]]:
    """Return the points of the curve without the time, which is not the same twice."""
    lines = (out / "curve.jsonl").read_text().splitlines()
    return [{**json.loads(line), "seconds": None} for line in lines]


def test_the_curve_has_a_point_for_each_checkpoint_and_falls(trained: Path) -> None:
    points = read_curve(trained / "curve.jsonl")
    assert [(point.step, point.programs) for point in points] == [
        (step, step * 8) for step in (5, 10, 15, 20)
    ]
    assert points[-1].valid_loss < points[0].valid_loss
    assert points[0].steps_held_out > 50


def test_a_plan_gives_one_curve_and_one_network(data: Path, trained: Path, tmp_path: Path) -> None:
    subprocess.run(list_command(data, tmp_path), env=ENVIRON, check=True, timeout=300)
    assert list_points(tmp_path) == list_points(trained)
    mine, other = load_network(tmp_path / "model.npz"), load_network(trained / "model.npz")
    assert mine.size == other.size
    for name, array in mine.weights.items():
        np.testing.assert_array_equal(array, other.weights[name])


def test_a_trained_network_is_not_replaced(data: Path, trained: Path) -> None:
    result = CliRunner().invoke(main, list_command(data, trained)[3:])
    assert result.exit_code == 2
    assert "another --out" in result.output


def test_numpy_answers_as_the_trained_network(data: Path, trained: Path) -> None:
    from spsbench.neural.training import Network, find_seen

    network = load_network(trained / "model.npz")
    encoder = StepEncoder(network.vocabulary)
    trajectory = next(read_part(data, "valid"))
    row = pack_trajectory(encoder, trajectory, 384, range(8))
    assert row is not None
    batch = stack_rows([row], 384)
    weights: dict[str, object] = {}
    for name, array in network.weights.items():
        *folders, leaf = name.split(".")
        last = "embedding" if leaf == "embed" else "scale" if leaf.startswith("norm") else "kernel"
        inner = weights
        for folder in (*folders, leaf):
            inner = inner.setdefault(folder, {})  # type: ignore[assignment]
        inner[last] = array
    seen = find_seen(batch["states"], batch["actions"])
    scores = Network(network.size).apply(
        {"params": weights}, batch["tokens"], batch["positions"], seen
    )
    step = trajectory.steps[0]
    stacks = list_stacks(trajectory.trace.states)
    lines = trajectory.trace.source.splitlines()
    ids = [
        *encoder.encode_source(trajectory.trace.source),
        *encoder.encode_state(lines, find_ends(stacks, step)[0]),
        *encoder.encode_action(step.action, step.line),
    ]
    assert row.tokens[: len(ids)] == ids
    halfway = network.read(network.start(), ids[:20])
    reading = network.read(halfway, ids[20:])
    np.testing.assert_allclose(reading.scores, scores[0, len(ids) - 1], atol=1e-3)
