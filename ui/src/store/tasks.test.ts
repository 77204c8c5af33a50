import { expect, test } from 'vitest';
import type { State, TaskRow } from '../api/types';
import { Tasks } from './tasks';

const row = (task: string, order: number, state: State = 'waiting'): TaskRow => ({
  task, order, state, node: 'n', title: task, kind: 'agent', since: 0, queued_ms: 0, ran_ms: 0, attempts: 0, cost_micros: null,
});

test('a page that is older than a change does not undo it', () => {
  const tasks = new Tasks();
  tasks.take([row('a', 0, 'done')], 9);
  expect(tasks.take([row('a', 0, 'running'), row('b', 1)], 5)).toBe(true);
  expect(tasks.list().map((each) => [each.task, each.state])).toEqual([['a', 'done'], ['b', 'waiting']]);
});

test('the newest of each row wins in whatever order pages and changes arrive', () => {
  const news: [number, TaskRow[]][] = [
    [1, [row('a', 0), row('b', 1), row('c', 2)]],
    [4, [row('b', 1, 'running')]],
    [6, [row('b', 1, 'done'), row('d', 3, 'running')]],
    [8, [row('d', 3, 'failed')]],
  ];
  const permutations = (all: typeof news): (typeof news)[] =>
    all.length < 2 ? [all] : all.flatMap((one, at) => permutations(all.toSpliced(at, 1)).map((rest) => [one, ...rest]));
  for (const order of permutations(news)) {
    const tasks = new Tasks();
    for (const [position, rows] of order) tasks.take(rows, position);
    expect(tasks.list().map((each) => `${each.task} ${each.state}`)).toEqual(['a waiting', 'b done', 'c waiting', 'd failed']);
    expect(tasks.get('d')?.state).toBe('failed');
  }
});

test('a row that names its last event is placed by that, not by the page it came with', () => {
  const tasks = new Tasks();
  tasks.take([{ ...row('a', 0, 'done'), changed: 7 }], 7);
  expect(tasks.take([{ ...row('a', 0, 'running'), changed: 3 }], 9)).toBe(false);
  expect(tasks.get('a')?.state).toBe('done');
});

test('tasks that a restart took away are gone, and the others keep their places', () => {
  const tasks = new Tasks();
  tasks.take([row('a', 0), row('b', 1), row('c', 2)], 1);
  expect(tasks.remove(['b', 'x'])).toBe(true);
  tasks.take([row('c', 2, 'done')], 2);
  expect(tasks.list().map((each) => `${each.task} ${each.state}`)).toEqual(['a waiting', 'c done']);
});

test('a list is a new array each time', () => {
  const tasks = new Tasks();
  tasks.take([row('a', 0)], 1);
  expect(tasks.list()).not.toBe(tasks.list());
});
