import { expect, test } from 'vitest';
import { costOf, sides } from './sides';

const totals = (ms: number, usage: Record<string, number> = {}) => ({ attempts: 1, ms, usage });

test('tasks that only one run has come first, then those whose time differs most', () => {
  const found = sides(
    [
      { task: 'same', totals: [totals(5), totals(5)] },
      { task: 'slower', totals: [totals(5), totals(90)] },
      { task: 'quicker', totals: [totals(300), totals(90)] },
      { task: 'new', totals: [null, totals(1)] },
    ],
    '',
  );
  expect(found.map(({ task, more }) => [task, more])).toEqual([['new', 1], ['quicker', -210], ['slower', 85], ['same', 0]]);
  expect(sides([{ task: 'Read[a]', totals: [totals(1), null] }], ' read').length).toBe(1);
  expect(sides([{ task: 'Read[a]', totals: [totals(1), null] }], 'write').length).toBe(0);
});

test('a cost that is not known is not nothing', () => {
  expect(costOf(totals(1, { input_tokens: 5 }))).toBe(null);
  expect(costOf(totals(1))).toBe(0);
  expect(costOf(totals(1, { input_tokens: 5, cost_micros: 7 }))).toBe(7);
  expect(costOf(null)).toBe(null);
});
