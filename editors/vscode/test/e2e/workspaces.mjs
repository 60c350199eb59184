// Workspaces for the tests: copies of the fixtures.
import { copyFileSync } from 'node:fs';
import path from 'node:path';

import { REPOSITORY, temporaryFolder } from './bench.mjs';

export const RECORDING = path.join(REPOSITORY, 'fixtures/simulated_cuda/torch2.15.0/slow_model.json.gz');

/** A folder with the program, and a recording of it unless told otherwise. */
export function slowModel({ recording = true } = {}) {
  const folder = temporaryFolder();
  copyFileSync(path.join(REPOSITORY, 'fixtures/workloads/slow_model.py'), path.join(folder, 'slow_model.py'));
  if (recording) {
    copyFileSync(RECORDING, path.join(folder, 'slow_model.json.gz'));
  }
  return folder;
}
