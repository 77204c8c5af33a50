import { expect, test } from 'vitest';
import type { State, TaskRow } from '../../api/types';
import { told } from '../../store/told';
import { levels } from './levels';

const row = (task: string, state: State, parent?: string): TaskRow => ({
  task, state, parent: parent ?? null, kind: null, node: 'merge', title: task, since: 0, queued_ms: 0, ran_ms: 0, attempts: 0, cost_micros: null, order: 0,
});

test('levels lead from the sources to the answer, and what is missing shows as failed', () => {
  const rows = [row('a', 'done'), row('b', 'failed'), row('merge', 'running'), row('merge/1.1', 'done', 'merge'), row('merge/1.2', 'running', 'merge'), row('merge/2.1', 'waiting', 'merge')];
  const events = [{ seq: 1, at: 1, event: { merge_started: { strategy: 'hierarchical', sources: ['a'], missing: [{ task: 'b' }] } } }];
  const found = levels(rows[2]!, told(events, null), rows, (task) => rows.find((one) => one.task === task)?.state);
  expect(found.map(({ name, cells }) => `${name}: ${cells.join(' ')}`)).toEqual(['sources: done failed', 'level 1: done running', 'level 2: waiting', 'answer: running']);
});
