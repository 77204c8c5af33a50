import { expect, test } from 'vitest';
import type { RunRow } from '../../api/types';
import { summary } from './summary';

const NOW = 1_794_740_850_000_000;
const run = (over: Partial<RunRow>): RunRow => ({
  run: 'r', workflow: 'w', status: 'running', started: NOW - 1e9, worked_ms: 0, counts: {}, total: 10,
  cost_micros: 0, asks: 0, live: true, folder: '/', ...over,
});

test('live runs are added up, ended ones are not', () => {
  const all = summary([run({ counts: { running: 3, done: 2, waiting: 5 } }), run({ counts: { running: 1, done: 4 }, expected: 20 }), run({ status: 'succeeded', live: false, counts: { done: 9 } })], NOW);
  expect([all.live, all.running, all.waiting, all.done, all.total]).toEqual([2, 4, 5, 6, 30]);
  expect(all.headline).toBe('All well');
});

test('trouble is said first', () => {
  const rows = [run({ counts: { failed: 3 } }), run({ status: 'failed', live: false }), run({ status: 'running', live: false })];
  expect(summary(rows, NOW).headline).toBe('1 run failed, 1 interrupted');
  expect(summary(rows, NOW).trouble.length).toBe(3);
  expect(summary(rows.slice(0, 1), NOW).headline).toBe('3 tasks failed');
});

test('a failure of last week is no news, and a parked run is no trouble', () => {
  const old = run({ status: 'failed', live: false, started: NOW - 9 * 86_400_000_000, ended: NOW - 8 * 86_400_000_000 });
  expect(summary([old, run({ status: 'parked', live: false })], NOW).headline).toBe('All ended well');
  expect(summary([], NOW).headline).toBe('Nothing to worry about');
});
