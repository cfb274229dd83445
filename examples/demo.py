"""The demo: one natural program, what goes in, what each block does, and what comes out.

make demo            replays the replies that a real model gave (examples/recordings/tickets.jsonl)
make demo LIVE=1     asks a model: set OPENAI_API_KEY, ANTHROPIC_API_KEY or NJC_BASE_URL
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import njrt
from njrt.effects import BindOutputs, Run

HERE = Path(__file__).parent
RECORDING = HERE / "recordings" / "tickets.jsonl"
sys.path.insert(0, str(HERE.parent / "compiled_out" / "examples"))

import tickets  # noqa: E402


def main() -> None:
    live = bool(os.environ.get("LIVE"))
    made = json.loads(RECORDING.read_text().splitlines()[0])
    print("program   examples/tickets.njpy   compiled to compiled_out/examples/tickets.py")
    print("model     " + ("live" if live else f"recorded {made['date']} from {made['note']}"))
    print("\nin")
    for ticket in tickets.TICKETS:
        print(f"          {ticket}")
    settings = {} if live else {"record": f"none:{RECORDING}"}
    with njrt.watch() as watch, njrt.using(**settings):
        teams = asyncio.run(tickets.main(tickets.TICKETS))
    print("\nblocks")
    for run in watch.runs:
        for act in run.effects:
            match act.effect:
                case Run(code):
                    shown = code.strip()
                case BindOutputs(values):
                    shown = json.dumps(values)
                case other:
                    shown = str(other)
            print(f"          {run.place}   {shown}   -> {act.result}")
    print("\nout")
    for ticket, team in zip(tickets.TICKETS, teams, strict=True):
        print(f"          {team:<10} {ticket}")
    print(f"\nused      {watch.totals}")


if __name__ == "__main__":
    try:
        main()
    except njrt.NaturalError as error:
        sys.exit(f"error: {error}")
