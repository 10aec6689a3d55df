#!/usr/bin/env node
// Starts the program of this platform, which npm chose among the optional dependencies.
// Hooks do not come by here: `statewarden install` names the program itself.
"use strict";

const { spawnSync } = require("node:child_process");

const platform = `@statewarden/${process.platform}-${process.arch}`;
const exe = process.platform === "win32" ? ".exe" : "";

let program;
try {
  program = require.resolve(`${platform}/statewarden${exe}`);
} catch {
  console.error(
    `statewarden: the package ${platform} is missing. Install statewarden again without ` +
      "`--omit=optional`; where there is no such package, build it with `cargo install --path`.",
  );
  process.exit(1);
}
const { error, signal, status } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`statewarden: could not start ${program}: ${error.message}`);
}
if (signal) {
  process.kill(process.pid, signal);
}
process.exitCode = status ?? 1;
