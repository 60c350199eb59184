import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { FoundRecording } from '../../src/api';
import { factsOf, knownOnceShown } from '../../src/recordingText';

const UNREAD: FoundRecording = {
  paths: ['/code/run.json.gz'],
  beside: [],
  folder: '/code',
  name: 'run.json.gz',
  modified: 0,
  bytes: 2048,
  bytesText: '2 KiB',
  kinds: ['kineto'],
  ranks: 1,
  steps: null,
  timeText: null,
  commit: null,
  dirty: null,
  loaded: false,
  pinned: false,
};
const READ: FoundRecording = { ...UNREAD, steps: 3, timeText: '19.2 ms' };

test('of a recording that was never read', () => {
  assert.deepEqual(factsOf({ ...UNREAD, paths: ['/code/a.json', '/code/b.json'] }), ['2 files', '2 KiB']);
  assert.deepEqual(knownOnceShown(UNREAD), ['Steps, times and the commit are known once it was shown.']);
});

test('the commit stands before the time of a step', () => {
  const named = { ...READ, commit: '1a2b3c4', ranks: 2 };
  assert.deepEqual(factsOf(named), ['1a2b3c4', '19.2 ms', '3 steps', '2 ranks', '2 KiB']);
  assert.deepEqual(knownOnceShown(named), ['Commit 1a2b3c4 was checked out when recording began.']);
  const dirty = { ...named, dirty: true };
  assert.equal(factsOf(dirty)[0], '1a2b3c4-dirty');
  assert.match(knownOnceShown(dirty)[0] ?? '', /files differed from it/);
});

test('one that names no commit', () => {
  assert.deepEqual(factsOf(READ), ['19.2 ms', '3 steps', '2 KiB']);
  assert.deepEqual(knownOnceShown(READ), []);
});
