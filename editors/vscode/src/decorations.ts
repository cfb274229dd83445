// Colors of prompts in .py files, where the setting `njc.highlightPython` asks for them.

import * as vscode from "vscode";
import { findPrompts, Range } from "./prompts";

const LONGEST_TEXT = 500_000;

/** Color the prompts of all visible Python editors, and keep the colors up to date. */
export function colorPrompts(): vscode.Disposable[] {
  const marker = vscode.window.createTextEditorDecorationType({ color: new vscode.ThemeColor("njc.marker") });
  const reference = vscode.window.createTextEditorDecorationType({ color: new vscode.ThemeColor("njc.reference") });
  const color = (editor: vscode.TextEditor) => {
    const { document } = editor;
    if (document.languageId !== "python") {
      return;
    }
    const isWanted = vscode.workspace.getConfiguration("njc", document.uri).get<boolean>("highlightPython", false);
    const text = isWanted ? document.getText() : "";
    const prompts = findPrompts(text.length <= LONGEST_TEXT ? text : "");
    const toRange = ({ start, end }: Range) => new vscode.Range(document.positionAt(start), document.positionAt(end));
    editor.setDecorations(marker, prompts.markers.map(toRange));
    editor.setDecorations(reference, prompts.references.map(toRange));
  };
  const colorAll = () => vscode.window.visibleTextEditors.forEach(color);
  colorAll();
  return [
    marker,
    reference,
    vscode.window.onDidChangeVisibleTextEditors(colorAll),
    vscode.workspace.onDidChangeTextDocument((change) =>
      vscode.window.visibleTextEditors.filter((editor) => editor.document === change.document).forEach(color),
    ),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("njc.highlightPython")) {
        colorAll();
      }
    }),
  ];
}
