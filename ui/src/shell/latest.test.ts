import { expect, test } from 'vitest';
import type { RunRow } from '../api/types';
import { latest } from './latest';

const run = (name: string, started: number, more: Partial<RunRow> = {}) => ({ run: name, started, asks: 0, live: false, ...more }) as RunRow;

test('what asks comes first, then what goes on, then the newest, and never more than ten', () => {
  const old = Array.from({ length: 20 }, (_, at) => run(`old-${at}`, at));
  const all = latest([...old, run('live', 5, { live: true }), run('asks', 1, { asks: 2 })]);
  expect(all.map(({ run }) => run).slice(0, 4)).toEqual(['asks', 'live', 'old-19', 'old-18']);
  expect(all).toHaveLength(10);
});
