import { expect, test } from 'vitest';
import type { Graph, State, TaskRow } from '../../api/types';
import { figures, foldedAtFirst, mostPressing, projected, standing, strip, way } from './fold';

const row = (task: string, node: string, state: State, over: Partial<TaskRow> = {}): TaskRow => ({
  task, node, state, title: task, kind: 'agent', since: 0, queued_ms: 0, ran_ms: 0, attempts: 1, cost_micros: null, order: 0, ...over,
});
const graph: Graph = {
  nodes: [
    { id: 'plan', kind: 'agent', title: 'plan' },
    { id: 'each', kind: 'for_each', title: 'each', count: 3 },
    { id: 'each/read', kind: 'agent', title: 'read', parent: 'each' },
  ],
  edges: [{ from: 'plan', to: 'each', kind: 'need' }],
};
const rows = [
  row('plan', 'plan', 'done'), row('each', 'each', 'running', { kind: 'for_each' }),
  row('each[0]/read', 'each/read', 'done'), row('each[1]/read', 'each/read', 'failed'), row('each[2]/read', 'each/read', 'running'),
];

test('a frame counts what is inside and not itself', () => {
  const found = figures(graph, rows);
  expect(found.get('each')!.counts).toEqual({ done: 1, failed: 1, running: 1 });
  expect(found.get('each')!.total).toBe(3);
  expect(found.get('plan')!.counts).toEqual({ done: 1 });
});

test('fan-outs are folded at first', () => expect(foldedAtFirst(graph)).toEqual(['each']));

test('a strip has a cell per item up to 400 and says how many each stands for beyond', () => {
  const tasks = (count: number, state: (at: number) => State) => Array.from({ length: count }, (_, at) => row(`n[${at}]`, 'n[]', state(at)));
  expect(strip(tasks(3, () => 'done'), 5, 'n')).toEqual({ cells: ['done', 'done', 'done', 'waiting', 'waiting'], mixes: [], items: 5, each: 1 });
  const many = strip(tasks(10_000, (at) => (at === 77 ? 'failed' : 'done')), 0, 'n');
  expect([many.cells.length, many.each, many.items]).toEqual([400, 25, 10_000]);
  expect(many.cells.filter((cell) => cell === 'failed').length).toBe(1);
  expect(many.mixes[3]).toEqual({ done: 24, failed: 1 });
  expect(strip([], 0, 'n').cells).toEqual([]);
});

test('an item that is partly done is under way', () => {
  expect(strip([row('g/n[x]/a', 'g/n[]/a', 'done'), row('g/n[x]/b', 'g/n[]/b', 'waiting'), row('g/n[y]/a', 'g/n[]/a', 'failed')], 2, 'g/n').cells).toEqual(['running', 'failed']);
});

test('a step of which some goes on goes on, however much has failed', () => {
  const all = (...states: State[]) => standing({ counts: {}, total: 0, own: [], tasks: states.map((state, at) => row(`t${at}`, 'n', state)) });
  expect([all(), all('waiting', 'waiting'), all('done', 'failed', 'waiting'), all('done', 'failed'), all('running', 'asks'), all('done', 'done')]).toEqual(['waiting', 'waiting', 'running', 'failed', 'asks', 'done']);
});

test('the most pressing state stands for all', () => {
  expect(mostPressing(['done', 'running', 'failed', 'asks'])).toBe('failed');
  expect(mostPressing(['waiting', 'running'])).toBe('running');
});

test('edges say what was taken and what still can be', () => {
  const found = figures(graph, rows);
  expect(way(found.get('plan'), found.get('each'), 'need', false)).toBe('taken');
  expect(way(found.get('plan'), undefined, 'route', false)).toBe('open');
  expect(way(found.get('plan'), undefined, 'route', true)).toBe('not taken');
  expect(way(found.get('plan'), found.get('each'), 'error', false)).toBe('not taken');
});

test('a projection needs some ended items and ends with the last', () => {
  const tasks = Array.from({ length: 10 }, (_, at) => row(`t${at}`, 'n', at < 5 ? 'done' : 'running', { started: 1_000_000 }));
  expect(projected(tasks, 10, 11_000_000)).toBe(10_000);
  expect(projected(tasks, 5, 11_000_000)).toBe(null);
  expect(projected(tasks.slice(0, 3), 10, 11_000_000)).toBe(null);
});
