"""How many tokens the instructions of each effect set take: the system prompt, and the tools or calls.

    NJC_BASE_URL=http://127.0.0.1:8000/v1 python bench/prompt_size.py

    effects         tools   system prompt   with tools   as plain text
    direct              1             208          300             292

Counted by the tokenizer of a llama.cpp or vLLM server, which both offer at `/tokenize`; without one there is
nothing to count with, and the command says so. Tools are counted as the JSON that is sent: what a vendor
makes of it differs. All of it is the same in every call, so that a prompt cache can hold it.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import get_args

from njrt.agent.prompt import build_system_prompt
from njrt.agent.tools import make_tools
from njrt.options import EffectSet


def tokens_in(text: str, base_url: str, model: str) -> int:
    """What the server's tokenizer makes of a text."""
    body = {"content": text, "prompt": text, "model": model, "add_special_tokens": False}
    request = urllib.request.Request(
        base_url.removesuffix("/v1") + "/tokenize",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return len(json.load(answer)["tokens"])


def main() -> None:
    base_url = os.environ.get("NJC_BASE_URL", "").rstrip("/")
    model = os.environ.get("NJC_MODEL", "").removeprefix("openai/")
    if not base_url:
        print("prompt_size: set NJC_BASE_URL to a llama.cpp or vLLM server, whose tokenizer counts")
        return
    print(
        f"{'effects':<16}{'tools':>5}{'system prompt':>16}{'with tools':>13}{'as plain text':>16}"
    )
    for effects in get_args(EffectSet):
        tools = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in make_tools(effects)
        ]
        try:
            system = tokens_in(build_system_prompt(effects, "tools"), base_url, model)
            whole = system + tokens_in(json.dumps(tools), base_url, model)
            plain = tokens_in(build_system_prompt(effects, "text"), base_url, model)
        except (urllib.error.URLError, KeyError) as error:
            print(f"prompt_size: the server does not count tokens ({error})")
            return
        print(f"{effects:<16}{len(tools):>5}{system:>16}{whole:>13}{plain:>16}")


if __name__ == "__main__":
    main()
