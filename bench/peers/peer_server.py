"""A model for several libraries: one script of turns, told in the protocol that each of them speaks.

    total = 3; break        njpy         run("total = 3; break", done=True), or a JSON object
                            nightjarpy   exec("total = 3"), then break()
                            nighthawk    nh_assign("total", "3"), then {"kind": "break"}

The server is OpenAI's chat completions on 127.0.0.1. It accepts whatever it is sent, as it has to judge nobody's
requests. What a protocol has no form for raises NotOffered before anything is asked.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "servers"))

from loopback import Answer, Loopback, Raw, Response, Seen
from openai_server import calls, says

MODEL = "gpt-4.1"
Body = Mapping[str, Any]
Reply = Callable[[Body], Answer]
"""Makes the answer to one request of a block."""


class NotOffered(Exception):
    """A library has no form for what a turn does."""


class PeerServer(Loopback):
    """The server; `play` sets what the following blocks are told."""

    def play(
        self,
        translate: Callable[[str], list[Reply]],
        turns: Iterable[str],
        *,
        delay: float = 0.0,
        keeps_connections: bool = False,
    ) -> None:
        """Answer the blocks to come with these turns. Forget what was asked before."""
        self._turns: Iterator[list[Reply]] = map(translate, turns)
        self._replies: list[Reply] = []
        self._delay = delay
        self._headers = {} if keeps_connections else {"connection": "close"}
        self.seen.clear()

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def asked(self) -> list[Body]:
        """The requests that a model was asked, without those for the list of models."""
        return [seen.body for seen in self.seen if seen.method == "POST"]

    def choose_response(self, seen: Seen) -> Response:
        self.closing.wait(self._delay)
        with self._lock:
            self.seen.append(seen)
            if seen.method == "GET":
                return self._send({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
            done = sum(message["role"] == "assistant" for message in seen.body["messages"])
            if done == 0:
                self._replies = next(self._turns, [])
            if done < len(self._replies):
                return self._send(self._replies[done](seen.body).body)
        return self._send({"error": {"message": "the script has no further reply"}}, status=400)

    def _send(self, body: Any, status: int = 200) -> Raw:
        return Raw(json.dumps(body), status=status, headers=self._headers)


def translate_for_njpy(turn: str) -> list[Reply]:
    """One call of the tool `run`; one JSON object for a block whose model writes no code."""

    def reply(body: Body) -> Answer:
        if body.get("tools"):
            return calls(("run", json.dumps({"code": turn, "done": True})))
        return says(json.dumps(write_object(turn)))

    return [reply]


def write_object(turn: str) -> dict[str, Any]:
    """The turn as data: its outputs, or its jump."""
    statements, ending = split_turn(turn)
    match ending:
        case ast.Break():
            return {"break": True}
        case ast.Continue():
            return {"continue": True}
        case ast.Raise(ast.Call(ast.Name(name), [ast.Constant(message)])):
            return {"raise": name, "message": message}
        case ast.Return(ast.expr() as value):
            return {"return": ast.literal_eval(value)}
    return {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in statements
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    } or {"pass": True}


def translate_for_nightjarpy(turn: str) -> list[Reply]:
    """One `exec` with the statements, then the effect that ends the block."""
    statements, ending = split_turn(turn)
    code = [ast.unparse(statement) for statement in statements]
    match ending:
        case ast.Return(value):
            code.append(f"returned = {ast.unparse(value) if value else None}")
            last = ("return", {"variable": "returned"})
        case ast.Raise(ast.expr() as error):
            code.append(f"error = {ast.unparse(error)}")
            last = ("raise", {"error": "error"})
        case ast.Break():
            last = ("break", {})
        case ast.Continue():
            last = ("continue", {})
        case _:
            last = ("done", {})
    executed = [call_tools(("exec", {"code": "\n".join(code)}))] if code else []
    return [*executed, call_tools(last)]


def translate_for_nighthawk(turn: str) -> list[Reply]:
    """The calls of `nh_assign` and `nh_eval`, together in one reply, then the outcome."""
    statements, ending = split_turn(turn)
    match ending:
        case ast.Return(value):
            result = {
                "kind": "return",
                "return_expression": ast.unparse(value) if value else "None",
            }
        case ast.Raise(ast.Call(ast.Name(name), [ast.Constant(str(message))])):
            result = {"kind": "raise", "raise_message": message, "raise_error_type": name}
        case ast.Raise():
            raise NotOffered("an exception is raised with one message")
        case ast.Break():
            result = {"kind": "break"}
        case ast.Continue():
            result = {"kind": "continue"}
        case _:
            result = {"kind": "pass"}
    tools = [call_of_nighthawk(statement) for statement in statements]
    called = [call_tools(*tools)] if tools else []
    return [*called, call_tools(("final_result", {"result": result}))]


def call_of_nighthawk(statement: ast.stmt) -> tuple[str, Body]:
    """The tool call that is the statement; nh_eval and nh_assign take expressions only."""
    match statement:
        case ast.Assign([ast.Name(name)], value):
            return "nh_assign", {"target_path": name, "expression": ast.unparse(value)}
        case ast.Expr(value):
            return "nh_eval", {"expression": ast.unparse(value)}
        case _:
            raise NotOffered("the model writes expressions, no statements")


TRANSLATORS: dict[str, Callable[[str], list[Reply]]] = {
    "njpy": translate_for_njpy,
    "nightjarpy": translate_for_nightjarpy,
    "nighthawk": translate_for_nighthawk,
}


def split_turn(turn: str) -> tuple[list[ast.stmt], ast.stmt | None]:
    """The statements of a turn, and the jump that ends it, if there is one."""
    # Jumps stand where they are legal, in a function and in a loop.
    function = ast.parse(f"def turn():\n for _ in ():\n  {turn}").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert isinstance(function.body[0], ast.For)
    statements = [
        statement for statement in function.body[0].body if not isinstance(statement, ast.Pass)
    ]
    if statements and isinstance(statements[-1], ast.Return | ast.Raise | ast.Break | ast.Continue):
        return statements[:-1], statements[-1]
    return statements, None


def call_tools(*named: tuple[str, Body]) -> Reply:
    """A reply that calls these tools."""
    answer = calls(*((name, json.dumps(arguments)) for name, arguments in named))
    return lambda body: answer
