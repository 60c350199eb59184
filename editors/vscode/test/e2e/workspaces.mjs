// Workspaces for the tests: copies of the fixtures.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';

import { REPOSITORY, temporaryFolder } from './bench.mjs';

const RECORDINGS = path.join(REPOSITORY, 'fixtures/simulated_cuda/torch2.15.0');
export const RECORDING = path.join(RECORDINGS, 'slow_model.json.gz');
export const SNAPSHOT = path.join(REPOSITORY, 'fixtures/simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz');

/** A folder with the program, and a recording of it unless the options say otherwise. */
export function slowModel({ recording = true } = {}) {
  const folder = path.join(temporaryFolder(), 'slow-model');
  mkdirSync(folder);
  copyFileSync(path.join(REPOSITORY, 'fixtures/workloads/slow_model.py'), path.join(folder, 'slow_model.py'));
  if (recording) {
    copyFileSync(RECORDING, path.join(folder, 'slow_model.json.gz'));
  }
  return folder;
}

/** A folder with the program and a memory snapshot of it. */
export function slowModelSnapshot() {
  const folder = slowModel({ recording: false });
  copyFileSync(SNAPSHOT, path.join(folder, path.basename(SNAPSHOT)));
  return folder;
}

/** A folder with the program of another recording, and the recording. */
export function uploads() {
  const folder = path.join(temporaryFolder(), 'uploads');
  mkdirSync(folder);
  copyFileSync(path.join(REPOSITORY, 'fixtures/workloads/uploads.py'), path.join(folder, 'uploads.py'));
  copyFileSync(path.join(RECORDINGS, 'uploads.json.gz'), path.join(folder, 'uploads.json.gz'));
  return folder;
}

/** Writes the recording of the slow model with 4 GiB of blanks in it, which take seconds to read and nearly no room on disk. */
export function writeSlowRecording(file) {
  const text = gunzipSync(readFileSync(RECORDING)).toString();
  const start = text.indexOf('[', text.indexOf('"traceEvents"')) + 1;
  const blanks = gzipSync(Buffer.alloc(2 ** 26, ' '), { level: 9 });
  writeFileSync(
    file,
    Buffer.concat([gzipSync(text.slice(0, start)), ...Array(64).fill(blanks), gzipSync(text.slice(start))]),
  );
}

/** Writes the recording of the slow model as it is without `with_stack=True`. */
export function writeWithoutStacks(file) {
  const trace = JSON.parse(gunzipSync(readFileSync(RECORDING)).toString());
  trace.traceEvents = trace.traceEvents.filter((it) => it.cat !== 'python_function');
  trace.with_stack = 0;
  writeFileSync(file, gzipSync(JSON.stringify(trace)));
}
