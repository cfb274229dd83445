"""`--seconds` of the commands that ask a model for one reply at a time, with a server that never answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from loopback import Hang
from openai_server import OpenAIServer
from spsbench.cli import main

REPAIR_PROBLEM = {
    "name": "same",
    "buggy": "def same(n):\n    return -n\n",
    "correct": "def same(n):\n    return n\n",
    "tests": [[[1], 1]],
}


def test_a_reply_that_does_not_come_in_time_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("buggy.jsonl").write_text(json.dumps(REPAIR_PROBLEM) + "\n")
    command = "repair --data buggy.jsonl --conditions neither --model openai/local --seconds 0.4"
    with OpenAIServer([Hang()] * 4, vendor=False, models=("local",)) as server:
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
        result = CliRunner().invoke(main, command.split())
    assert result.exit_code == 1
    assert "the same command continues with them" in result.output
    assert "within 0.4 s, retries included; raise --seconds" in result.output
