// The sums of exported stacks, as the programs read them that they are for.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

const require = createRequire(import.meta.url);
const json = (path) => JSON.parse(readFileSync(path, "utf8"));

/** By the name of a metric in exports: the total of the lines, in nanoseconds or bytes. */
const totals = new Map(
  Object.entries({
    "thread time": "cpu_us",
    "CUDA time": "cuda_us",
    "GPU idle time": "gpu_idle_us",
    "waits for devices": "sync_us",
    "allocated bytes": "alloc_bytes",
  }).map(([label, field]) => {
    const total = json("lines.json").totals[field];
    return [label, field.endsWith("_us") ? Math.round(total * 1000) : total];
  }),
);
assert.ok([...totals.values()].every((it) => it > 0));

function speedscope() {
  const Ajv = require("ajv");
  const schema = json("node_modules/speedscope/dist/release/file-format-schema.json");
  const validate = new Ajv({ strict: false }).compile(schema);
  const file = json("stacks.speedscope");
  assert.ok(validate(file), JSON.stringify(validate.errors));
  return file.profiles.map((it) => [it.name, it.weights.reduce((sum, weight) => sum + weight, 0)]);
}

function pprof() {
  const { Profile } = require("pprof-format");
  const profile = Profile.decode(gunzipSync(readFileSync("stacks.pprof")));
  const text = (row) => profile.stringTable.strings[Number(row)];
  const labels = new Map([
    ["cpu", "thread time"],
    ["cuda", "CUDA time"],
    ["gpu_idle", "GPU idle time"],
    ["sync", "waits for devices"],
    ["alloc", "allocated bytes"],
  ]);
  return profile.sampleType.map((type, index) => {
    const values = profile.sample.map((it) => Number(it.value[index]));
    return [labels.get(text(type.type)), values.reduce((sum, it) => sum + it, 0)];
  });
}

function firefox() {
  const cli = (...args) => execFileSync("node_modules/.bin/profiler-cli", args, { encoding: "utf8" });
  cli("load", "stacks.firefox");
  try {
    const [process] = JSON.parse(cli("profile", "info", "--json")).processes;
    return process.threads.map((thread) => {
      const listed = ["--include-idle", "--limit", "0", "--json"];
      const of = JSON.parse(cli("thread", "functions", "--thread", thread.threadHandle, ...listed));
      const scale = of.weightType === "bytes" ? 1 : 1e6;
      const sum = of.functions.reduce((sum, it) => sum + it.selfSamples, 0);
      if (thread.name === "CUDA time") {
        const names = of.functions.map((it) => it.name);
        assert.ok(names.includes("train_step (slow_model.py:97)"), names.join("\n"));
      }
      return [thread.name, Math.round(sum * scale)];
    });
  } finally {
    cli("stop", "--all");
  }
}

for (const [name, read] of Object.entries({ speedscope, pprof, firefox })) {
  assert.deepEqual(new Map(read().sort()), new Map([...totals].sort()), name);
  console.log(`${name}: the sums of ${totals.size} metrics are those of the lines`);
}
