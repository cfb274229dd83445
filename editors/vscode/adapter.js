// Starts `njc dap` and connects it to the editor. NJC names another command, such as one in a virtual environment.
const { spawn } = require("child_process");

const adapter = spawn(process.env.NJC || "njc", ["dap"], { stdio: "inherit" });
adapter.on("error", (error) => {
  process.stderr.write(`njc dap cannot be started: ${error.message}; install njpy, or set NJC to the command\n`);
  process.exit(1);
});
adapter.on("exit", (code) => process.exit(code ?? 1));
