// Natural code in VS Code: the language server, the debugger, and the commands.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";
import { CommandLine, listCommands } from "./command";
import { findCompiledLine, LineSegment } from "./lineMap";
import { colorPrompts } from "./decorations";

const LANGUAGE = "njpy";
const COMPILED_SCHEME = "njc-compiled";
const START_SECONDS = 30;

let client: LanguageClient | undefined;
let log: vscode.LogOutputChannel;
let starting: Promise<void> = Promise.resolve();

/** Called when a .njpy or a .py file is opened. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  log = vscode.window.createOutputChannel("Natural code", { log: true });
  const compiled = new CompiledFiles();
  const { registerCommand } = vscode.commands;
  context.subscriptions.push(
    log,
    registerCommand("njc.restartServer", restartServer),
    registerCommand("njc.showLog", () => log.show()),
    registerCommand("njc.showCompiled", () => showCompiled(compiled)),
    registerCommand("njc.runFile", (file?: vscode.Uri) => runFile(file)),
    registerCommand("njc.debugFile", (file?: vscode.Uri) => debugFile(file)),
    vscode.workspace.registerTextDocumentContentProvider(COMPILED_SCHEME, compiled),
    vscode.debug.registerDebugConfigurationProvider("njc", { resolveDebugConfiguration }),
    vscode.debug.registerDebugAdapterDescriptorFactory("njc", { createDebugAdapterDescriptor }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (["njc.command", "python.defaultInterpreterPath"].some((key) => change.affectsConfiguration(key))) {
        void restartServer();
      }
    }),
    vscode.workspace.onDidSaveTextDocument((document) => compiled.refresh(document.uri)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => restartServer()),
    ...colorPrompts(),
    { dispose: () => void stopServer() },
  );
  await followPython(context);
  const isNatural = (document: vscode.TextDocument) => document.languageId === LANGUAGE;
  if (vscode.workspace.textDocuments.some(isNatural)) {
    void restartServer();
  }
  context.subscriptions.push(
    vscode.workspace.onDidOpenTextDocument((document) => {
      if (isNatural(document) && !client) {
        void restartServer();
      }
    }),
  );
}

/** Called when the window closes. */
export async function deactivate(): Promise<void> {
  await stopServer();
}

// ── the command njc ──────────────────────────────────────────────────────────────────────────────

/** Find the first command that answers; undefined, with a message to the user, where none does. */
async function findCommand(resource?: vscode.Uri): Promise<CommandLine | undefined> {
  const folder = (resource && vscode.workspace.getWorkspaceFolder(resource)) ?? vscode.workspace.workspaceFolders?.[0];
  const candidates = listCommands({
    configured: vscode.workspace.getConfiguration("njc", resource).get<string[]>("command", []),
    activePython: await findActivePython(resource ?? folder?.uri),
    defaultPython: vscode.workspace.getConfiguration("python", resource).get<string>("defaultInterpreterPath"),
    folder: folder?.uri.fsPath,
    platform: process.platform,
    home: homedir(),
    exists: existsSync,
  });
  for (const command of candidates) {
    const version = await askVersion(command, folder?.uri.fsPath);
    if (version) {
      log.info(`${[command.program, ...command.args].join(" ")}: ${version}`);
      return command;
    }
  }
  const tried = candidates.map((command) => [command.program, ...command.args].join(" "));
  log.error(`njc does not answer; tried: ${tried.join(", ")}`);
  void reportMissing();
  return undefined;
}

async function reportMissing(): Promise<void> {
  const settings = "Open Settings";
  const chosen = await vscode.window.showErrorMessage(
    'njc was not found. Install njc (pip install "njpy[lsp]") in the Python of the workspace, or set njc.command.',
    settings,
    "Show Log",
  );
  if (chosen === settings) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "njc.command");
  } else if (chosen) {
    log.show();
  }
}

function askVersion(command: CommandLine, cwd: string | undefined): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { cwd, timeout: START_SECONDS * 1000 };
    execFile(command.program, [...command.args, "--version"], options, (error, output) => {
      resolve(!error && output.startsWith("njc ") ? output.trim() : undefined);
    });
  });
}

interface PythonExtension {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(environment: unknown): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function getPythonExtension(): Promise<PythonExtension | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>("ms-python.python");
  try {
    return extension && (await extension.activate());
  } catch (error) {
    log.warn(`the Python extension does not start: ${error}`);
    return undefined;
  }
}

async function findActivePython(resource: vscode.Uri | undefined): Promise<string | undefined> {
  const environments = (await getPythonExtension())?.environments;
  if (!environments) {
    return undefined;
  }
  const resolved = await environments.resolveEnvironment(environments.getActiveEnvironmentPath(resource));
  return resolved?.executable.uri?.fsPath;
}

async function followPython(context: vscode.ExtensionContext): Promise<void> {
  const environments = (await getPythonExtension())?.environments;
  if (environments) {
    context.subscriptions.push(environments.onDidChangeActiveEnvironmentPath(() => restartServer()));
  }
}

// ── the language server ──────────────────────────────────────────────────────────────────────────

/** Stop the server and start it, one call after the other. */
function restartServer(): Promise<void> {
  starting = starting.then(stopServer).then(startServer);
  return starting;
}

async function startServer(): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    return;
  }
  const command = await findCommand();
  if (!command) {
    return;
  }
  const options = { cwd: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath };
  const server = { command: command.program, args: [...command.args, "lsp"], options };
  client = new LanguageClient("njc", "Natural code", server, {
    documentSelector: [{ language: LANGUAGE }],
    outputChannel: log,
    synchronize: {
      fileEvents: vscode.workspace.createFileSystemWatcher("**/{*.njpy,*.py,pyproject.toml,njc.lock,*.jsonl}"),
    },
  });
  try {
    await client.start();
  } catch (error) {
    log.error(`njc lsp does not start: ${error}`);
    client = undefined;
    const choice = await vscode.window.showErrorMessage(
      'The language server does not start. It needs the extra `lsp`: pip install "njpy[lsp]"',
      "Show Log",
    );
    if (choice) {
      log.show();
    }
  }
}

async function stopServer(): Promise<void> {
  const stopped = client;
  client = undefined;
  try {
    await stopped?.stop();
  } catch (error) {
    log.warn(`the language server did not stop in order: ${error}`);
  }
}

// ── compiled files ───────────────────────────────────────────────────────────────────────────────

interface CompiledText {
  readonly text: string | null;
  readonly lineMap: readonly LineSegment[];
}

/** The compiled form of open files, as read-only documents. */
class CompiledFiles implements vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly lineMaps = new Map<string, readonly LineSegment[]>();

  /** The document that shows the compiled form of a source. */
  locate(source: vscode.Uri): vscode.Uri {
    const path = source.path.replace(/\.njpy$/, ".py");
    return vscode.Uri.from({ scheme: COMPILED_SCHEME, path, query: source.toString() });
  }

  /** The line of the compiled form for a line of the source, both from 0. */
  findLine(source: vscode.Uri, line: number): number {
    return findCompiledLine(this.lineMaps.get(source.toString()) ?? [], line);
  }

  refresh(source: vscode.Uri): void {
    if (this.lineMaps.has(source.toString())) {
      this.changed.fire(this.locate(source));
    }
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const source = uri.query;
    await starting;
    if (!client) {
      return "# the language server does not run\n";
    }
    const parameters = { textDocument: { uri: source } };
    const compiled = await client.sendRequest<CompiledText>("njc/compiledText", parameters);
    this.lineMaps.set(source, compiled.lineMap);
    return compiled.text ?? "# the file has errors: see the problems\n";
  }
}

async function showCompiled(compiled: CompiledFiles): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.languageId !== LANGUAGE) {
    return;
  }
  const source = editor.document.uri;
  const shown = compiled.locate(source);
  compiled.refresh(source);
  const document = await vscode.workspace.openTextDocument(shown);
  await vscode.languages.setTextDocumentLanguage(document, "python");
  const line = compiled.findLine(source, editor.selection.active.line);
  await vscode.window.showTextDocument(document, {
    viewColumn: vscode.ViewColumn.Beside,
    preserveFocus: true,
    selection: new vscode.Range(line, 0, line, 0),
  });
}

// ── running and debugging ────────────────────────────────────────────────────────────────────────

async function saveFile(file: vscode.Uri | undefined): Promise<vscode.Uri | undefined> {
  const chosen = file ?? vscode.window.activeTextEditor?.document.uri;
  const document = vscode.workspace.textDocuments.find((open) => open.uri.toString() === chosen?.toString());
  if (document?.isDirty && !(await document.save())) {
    return undefined;
  }
  return chosen;
}

async function runFile(file: vscode.Uri | undefined): Promise<void> {
  const saved = await saveFile(file);
  const command = saved && (await findCommand(saved));
  if (!saved || !command) {
    return;
  }
  const folder = vscode.workspace.getWorkspaceFolder(saved) ?? vscode.TaskScope.Workspace;
  const words = [...command.args, "run", saved.fsPath];
  const execution = new vscode.ProcessExecution(command.program, words);
  const task = new vscode.Task({ type: "process" }, folder, "njc run", "njc", execution, []);
  task.presentationOptions = { clear: true, focus: true, panel: vscode.TaskPanelKind.Shared };
  await vscode.tasks.executeTask(task);
}

async function debugFile(file: vscode.Uri | undefined): Promise<void> {
  const saved = await saveFile(file);
  if (saved) {
    const folder = vscode.workspace.getWorkspaceFolder(saved);
    await vscode.debug.startDebugging(folder, makeLaunch(saved.fsPath));
  }
}

function makeLaunch(program: string): vscode.DebugConfiguration {
  return { type: "njc", request: "launch", name: "Natural code", program, stopOnEntry: true };
}

/** Debug the file of the editor where no launch.json says anything. */
function resolveDebugConfiguration(
  folder: vscode.WorkspaceFolder | undefined,
  configuration: vscode.DebugConfiguration,
): vscode.DebugConfiguration | undefined {
  if (configuration.type) {
    const cwd = configuration.cwd ?? folder?.uri.fsPath;
    return cwd === undefined ? configuration : { ...configuration, cwd };
  }
  const document = vscode.window.activeTextEditor?.document;
  return document?.languageId === LANGUAGE ? resolveDebugConfiguration(folder, makeLaunch(document.fileName)) : undefined;
}

async function createDebugAdapterDescriptor(
  session: vscode.DebugSession,
): Promise<vscode.DebugAdapterDescriptor | undefined> {
  const command = await findCommand(session.workspaceFolder?.uri);
  if (!command) {
    throw new Error('njc was not found: install it, or set njc.command');
  }
  const options = { cwd: session.workspaceFolder?.uri.fsPath };
  return new vscode.DebugAdapterExecutable(command.program, [...command.args, "dap"], options);
}
