import { expect, test } from 'vitest';
import type { TaskRow } from '../../api/types';
import { selection } from './selection';

const row = (task: string, order: number, over: Partial<TaskRow> = {}): TaskRow => ({
  task, order, node: task.split('[')[0]!, title: task, kind: 'agent', state: 'done', since: order, queued_ms: 0, ran_ms: 0, attempts: 1, cost_micros: null, ...over,
});
const rows = [row('read', 0, { ran_ms: 5 }), row('review[a]', 1, { state: 'failed', failure: 'rate limit', ran_ms: 9 }), row('review[b]', 2, { cost_micros: 3 }), row('review2', 3)];
const tasks = (wanted: Partial<Parameters<typeof selection>[1]>) =>
  selection(rows, { states: [], node: '', words: '', sort: 'order', ...wanted }).map(({ task }) => task);

test('filters narrow together', () => {
  expect(tasks({})).toEqual(['read', 'review[a]', 'review[b]', 'review2']);
  expect(tasks({ node: 'review' })).toEqual(['review[a]', 'review[b]']);
  expect(selection([row('x', 0, { node: 'review[]/check' })], { states: [], node: 'review', words: '', sort: 'order' }).length).toBe(1);
  expect(tasks({ node: 'review', states: ['failed'] })).toEqual(['review[a]']);
  expect(tasks({ words: 'LIMIT rate' })).toEqual(['review[a]']);
});

test('what is unknown is sorted last, and sorting changes no row of the run', () => {
  expect(tasks({ sort: 'cost' })[0]).toBe('review[b]');
  expect(tasks({ sort: 'slowest' }).slice(0, 2)).toEqual(['review[a]', 'read']);
  expect(rows.map(({ order }) => order)).toEqual([0, 1, 2, 3]);
});
