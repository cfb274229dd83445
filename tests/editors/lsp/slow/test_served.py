"""The language server as editors use it: `njc lsp` in a process of its own, by stdio."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient

from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile

pytest_plugins = ["pytest_lsp"]  # other tests start a second earlier without it

ROOT = Path(__file__).parents[4]
SERVER = [sys.executable, "-m", "njc", "lsp"]
SECONDS = 90
PROGRAM = '''\
from typing import Literal


def route(tickets: set[str]) -> None:
    for ticket in tickets:
        """natural
        Put <ticket> into <:team: Literal["billing", "shipping"]>, or continue.
        """
        print(ticket, team)
'''


def capabilities(*encodings: str) -> lsp.ClientCapabilities:
    return lsp.ClientCapabilities(
        general=lsp.GeneralClientCapabilities(position_encodings=list(encodings) or None),
        text_document=lsp.TextDocumentClientCapabilities(
            rename=lsp.RenameClientCapabilities(prepare_support=True)
        ),
    )


@pytest_lsp.fixture(config=ClientServerConfig(server_command=SERVER), scope="module")
async def client(lsp_client: LanguageClient) -> AsyncIterator[None]:
    await lsp_client.initialize_session(lsp.InitializeParams(capabilities=capabilities("utf-16")))
    yield
    await lsp_client.shutdown_session()


class Editor:
    """An open document of a client."""

    def __init__(self, client: LanguageClient, uri: str, text: str) -> None:
        self.client, self.uri, self.text, self.version = client, uri, text, 1
        self.published: list[lsp.PublishDiagnosticsParams] = []
        self._listen()
        client.text_document_did_open(
            lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "njpy", 1, text))
        )

    @property
    def identifier(self) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(self.uri)

    def at(self, mark: str) -> dict[str, Any]:
        """Return the document, and the place behind the first `mark`."""
        before = self.text[: self.text.index(mark) + len(mark)]
        line = before.count("\n")
        return {
            "text_document": self.identifier,
            "position": lsp.Position(line, len(before) - before.rfind("\n") - 1),
        }

    async def findings(self) -> list[lsp.Diagnostic]:
        """Return the findings of this version of the text, when they come."""
        async with asyncio.timeout(SECONDS):
            while True:
                for found in self.published:
                    if (found.uri, found.version) == (self.uri, self.version):
                        return list(found.diagnostics)
                await asyncio.sleep(0.01)

    def _listen(self) -> None:
        """Keep each publication: of two that come at once, a wait for the next one misses the second."""
        self.client.protocol.wait_for_notification(
            lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, self._keep
        )

    def _keep(self, found: lsp.PublishDiagnosticsParams) -> None:
        self.published.append(found)
        self._listen()

    def replace(self, text: str) -> None:
        self.text, self.version = text, self.version + 1
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(self.version, self.uri),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def close(self) -> None:
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(self.identifier))


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def editor(client: LanguageClient, tmp_path: Path) -> AsyncIterator[Editor]:
    opened = Editor(client, (tmp_path / "mail.njpy").as_uri(), PROGRAM)
    assert await opened.findings() == []
    yield opened
    opened.close()


async def test_findings_come_with_the_typing(editor: Editor) -> None:
    editor.replace(PROGRAM.replace("<ticket>", "<tiket>"))
    (finding,) = await editor.findings()
    assert (finding.code, finding.source) == ("NJ201", "njc")
    assert finding.range == lsp.Range(lsp.Position(6, 12), lsp.Position(6, 19))
    assert finding.message == "`tiket` is not defined here\ndid you mean `ticket`?"
    editor.replace(PROGRAM + "x = (")
    (finding,) = await editor.findings()
    assert finding.code == "NJ001"
    editor.replace(PROGRAM)
    assert await editor.findings() == []


async def test_completion_in_a_prompt(editor: Editor) -> None:
    editor.replace(PROGRAM.replace("<ticket> into", "<tic"))
    found = await editor.client.text_document_completion_async(
        lsp.CompletionParams(**editor.at("Put <tic"))
    )
    assert isinstance(found, lsp.CompletionList)
    item = next(item for item in found.items if item.label == "ticket")
    assert item.detail == "str, line 5"
    assert isinstance(item.text_edit, lsp.TextEdit)
    assert item.text_edit.new_text == "ticket>"
    assert item.text_edit.range == lsp.Range(lsp.Position(6, 13), lsp.Position(6, 16))


async def test_hover_tells_the_type_and_what_the_block_may_do(editor: Editor) -> None:
    found = await editor.client.text_document_hover_async(lsp.HoverParams(**editor.at("Put <tic")))
    assert found is not None
    assert isinstance(found.contents, lsp.MarkupContent)
    assert "ticket: str" in found.contents.value
    assert "effects: `answer`" in found.contents.value


async def test_definition_and_references(editor: Editor) -> None:
    place = editor.at("Put <tic")
    found = await editor.client.text_document_definition_async(lsp.DefinitionParams(**place))
    assert isinstance(found, list)
    assert [place.range.start for place in found] == [lsp.Position(4, 8)]  # type: ignore[union-attr]
    references = await editor.client.text_document_references_async(
        lsp.ReferenceParams(context=lsp.ReferenceContext(True), **place)
    )
    assert [(at.range.start.line, at.range.start.character) for at in references or ()] == [
        (4, 8),
        (6, 13),
        (8, 14),
    ]


async def test_rename_changes_program_and_prompt(editor: Editor) -> None:
    place = editor.at("Put <tic")
    prepared = await editor.client.text_document_prepare_rename_async(
        lsp.PrepareRenameParams(**place)
    )
    assert isinstance(prepared, lsp.PrepareRenamePlaceholder)
    assert prepared.placeholder == "ticket"
    found = await editor.client.text_document_rename_async(
        lsp.RenameParams(new_name="message", **place)
    )
    assert found is not None
    assert found.changes is not None
    edits = found.changes[editor.uri]
    assert {edit.new_text for edit in edits} == {"message"}
    assert len(edits) == 3


async def test_folds_tokens_and_actions(editor: Editor) -> None:
    client, identifier = editor.client, editor.identifier
    folds = await client.text_document_folding_range_async(lsp.FoldingRangeParams(identifier))
    assert [(fold.start_line, fold.end_line) for fold in folds or ()] == [(3, 8), (5, 6)]
    tokens = await client.text_document_semantic_tokens_full_async(
        lsp.SemanticTokensParams(identifier)
    )
    assert tokens is not None
    assert list(tokens.data[:10]) == [5, 11, 7, 0, 0, 1, 8, 3, 1, 0]
    editor.replace(PROGRAM.replace("<ticket>", "<tiket>"))
    place = editor.at("Put <ti")["position"]
    actions = await client.text_document_code_action_async(
        lsp.CodeActionParams(identifier, lsp.Range(place, place), lsp.CodeActionContext([]))
    )
    titles = [action.title for action in actions or ()]
    assert titles == [
        "Change `tiket` to `ticket`",
        "Make `<tiket>` plain text",
        "Ignore NJ201 here",
    ]


async def test_the_compiled_text_and_its_lines(editor: Editor) -> None:
    request = {"textDocument": {"uri": editor.uri}}
    found = await editor.client.protocol.send_request_async("njc/compiledText", request)
    source = SourceFile("mail.njpy", PROGRAM.encode())
    compiled = compile_source(source).output
    assert compiled is not None
    assert read(found, "text") == compiled.decode()
    assert read(found, "version") == editor.version
    call = compiled.decode().split("\n").index("            _nj.run(")
    segment = [at for at in read(found, "lineMap") if read(at, "compiled") <= call][-1]
    assert read(segment, "source") == PROGRAM.split("\n").index('        """natural')
    assert not read(segment, "isAuthors")
    editor.replace("x = (")
    found = await editor.client.protocol.send_request_async("njc/compiledText", request)
    assert read(found, "text") is None


def read(holder: Any, name: str) -> Any:
    """Return a part of an answer that lsprotocol has no class for."""
    return holder[name] if isinstance(holder, dict) else getattr(holder, name)
