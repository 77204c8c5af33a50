import { expect, test } from 'vitest';
import type { TaskRow } from '../../api/types';
import { branches, nameOf } from './tree';

const row = (task: string, kind: string, parent?: string): TaskRow => ({
  task, kind, parent: parent ?? null, node: 'goal', title: task, state: 'done', since: 0, queued_ms: 0, ran_ms: 0, attempts: 0, cost_micros: null, order: 0,
});
const rows = [row('other', 'agent'), row('goal', 'goal'), row('goal/plan', 'role', 'goal'), row('goal/1', 'item', 'goal'), row('goal/1/1', 'item', 'goal/1'), row('inner', 'goal', 'goal/1/1')];
const shape = (folded: string[]) => branches(rows, ({ kind }) => kind === 'goal', new Set(folded)).map(({ row: { task }, depth }) => `${depth} ${task}`);

test('a tree begins at the goal and goes down in order', () => {
  expect(shape([])).toEqual(['0 goal', '1 goal/plan', '1 goal/1', '2 goal/1/1', '3 inner']);
});

test('what is below a folded task is left out, and the fold says how much there is', () => {
  const found = branches(rows, ({ kind }) => kind === 'goal', new Set(['goal/1']));
  expect(found.map(({ row: { task } }) => task).slice(0, 3)).toEqual(['goal', 'goal/plan', 'goal/1']);
  expect(found.find(({ row: { task } }) => task === 'goal/1')!.children).toBe(1);
});

test('a question on the way of a step has a name of its own', () => {
  expect(nameOf({ ...row('goal/1/execute[1]', 'role', 'goal/1'), title: 'count the words', aside: true })).toBe('execute[1]');
  expect(nameOf({ ...row('goal/1', 'item', 'goal'), title: 'count the words' })).toBe('count the words');
});
