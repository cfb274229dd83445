// The command that runs njc: of the settings, of the Python of the workspace, or of the PATH.

import * as path from "node:path";

/** A program and its first arguments. */
export interface CommandLine {
  readonly program: string;
  readonly args: readonly string[];
}

/** What is known of a workspace; paths are absolute, and undefined where nothing is known. */
export interface Surroundings {
  /** The setting `njc.command`. */
  readonly configured: readonly string[];
  /** The Python that the Python extension uses. */
  readonly activePython: string | undefined;
  /** The setting `python.defaultInterpreterPath`. */
  readonly defaultPython: string | undefined;
  readonly folder: string | undefined;
  readonly platform: NodeJS.Platform;
  readonly home: string;
  exists(file: string): boolean;
}

/** The commands to try, in order; the first one that answers is used. */
export function listCommands(around: Surroundings): CommandLine[] {
  const [program, ...args] = around.configured.map((word) => expand(word, around));
  if (program) {
    return [{ program, args }];
  }
  const pythons = [around.activePython, ...listPythons(around)];
  const known = pythons.filter((python): python is string => !!python && around.exists(python));
  return [
    ...[...new Set(known)].map((python) => ({ program: python, args: ["-m", "njc"] })),
    { program: "njc", args: [] },
  ];
}

function listPythons(around: Surroundings): string[] {
  const found: string[] = [];
  if (around.defaultPython && around.defaultPython !== "python") {
    found.push(expand(around.defaultPython, around));
  }
  if (around.folder) {
    const inner = around.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"];
    found.push(...[".venv", "venv"].map((name) => path.join(around.folder as string, name, ...inner)));
  }
  return found;
}

/** A word of a setting with the variables that VS Code leaves to extensions. */
export function expand(word: string, around: Pick<Surroundings, "folder" | "home">): string {
  const expanded = word
    .replaceAll("${workspaceFolder}", around.folder ?? "")
    .replaceAll("${userHome}", around.home)
    .replace(/^~(?=\/|\\|$)/, around.home);
  const isRelative = /[\\/]/.test(expanded) && !path.isAbsolute(expanded);
  return isRelative && around.folder ? path.join(around.folder, expanded) : expanded;
}
