"""Count the tokens of the instructions of a block with code: the system prompt, and its tool.

    NJC_BASE_URL=http://127.0.0.1:8000/v1 python bench/prompt_size.py

    effects         tools   system prompt   with tools   as plain text
    direct              1             208          300             292

The tokenizer of a llama.cpp or vLLM server counts, at `/tokenize`; without a server the command only says
that it needs one. Tools are counted as the JSON that is sent; vendors add tokens of their own. All of it is
the same in every call, so a prompt cache can keep it.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request

from njrt.agent.prompt import build_direct_prompt
from njrt.agent.tools import DIRECT_TOOLS


def count_tokens(text: str, base_url: str, model: str) -> int:
    """Return the number of tokens of a text, by the server's tokenizer."""
    body = {"content": text, "prompt": text, "model": model, "add_special_tokens": False}
    request = urllib.request.Request(
        base_url.removesuffix("/v1") + "/tokenize",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return len(json.load(answer)["tokens"])


def main() -> None:
    """Count, and print a table."""
    base_url = os.environ.get("NJC_BASE_URL", "").rstrip("/")
    model = os.environ.get("NJC_MODEL", "").removeprefix("openai/")
    if not base_url:
        print("prompt_size: set NJC_BASE_URL to a llama.cpp or vLLM server, whose tokenizer counts")
        return
    print(
        f"{'effects':<16}{'tools':>5}{'system prompt':>16}{'with tools':>13}{'as plain text':>16}"
    )
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in DIRECT_TOOLS
    ]
    try:
        system = count_tokens(build_direct_prompt("tools"), base_url, model)
        whole = system + count_tokens(json.dumps(tools), base_url, model)
        plain = count_tokens(build_direct_prompt("text"), base_url, model)
    except (urllib.error.URLError, KeyError) as error:
        print(f"prompt_size: the server does not count tokens ({error})")
        return
    print(f"{'direct':<16}{len(tools):>5}{system:>16}{whole:>13}{plain:>16}")


if __name__ == "__main__":
    main()
