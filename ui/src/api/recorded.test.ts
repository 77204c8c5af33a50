import { expect, test } from 'vitest';
import { NotRecorded, Recording, type Recorded } from './recorded';
import type { RunHead, TaskDetail, TaskRow, Timeline } from './types';

const row = (task: string, order: number, rest: Partial<TaskRow> = {}): TaskRow => ({
  task, order, state: 'done', node: task, title: task, kind: 'agent', since: 9, started: 5, ended: 9, queued_ms: 0, ran_ms: 4, attempts: 1, cost_micros: 1, ...rest,
});
const detail = (task: string, order: number, text: string): TaskDetail => ({
  ...row(task, order),
  tries: [{ number: 1, started: 5, cost_micros: 1 }],
  output: { text, json: false, bytes: text.length, cut: false },
  prompt: { parts: [{ name: 'prompt', text: `say ${text}` }] },
});
const place = (position: number, rest: object) => ({ position, at: position * 10, head: {}, rows: [], count: 2, so_far: [], idle: [], critical: [], queued: [], ...rest });

const recording = new Recording({
  version: '1', made: 100,
  head: { run: 'r', workflow: 'w', status: 'succeeded', position: 9, counts: { done: 2 } } as unknown as RunHead,
  tasks: { tasks: [row('a', 0), row('b', 1)], total: 2 },
  graph: { nodes: [], edges: [] },
  timeline: { from: 1, to: 90, position: 9, idle: [], critical: [0, 1], rows: { task: ['a', 'b'], state: ['done', 'done'], queued: [0, 0], started: [5, 5], ended: [9, 9], retries: [[20, 70], []] } } as Timeline,
  story: { sentences: [{ at: 1, seq: 1, text: 'it began' }, { at: 9, seq: 9, text: 'it ended' }], cut: 0 },
  markers: { markers: [] },
  details: { a: detail('a', 0, 'a Finding here') },
  told: {},
  places: [
    place(1, { head: { status: 'running', counts: {} }, rows: [[0, { state: 'waiting', started: null, ended: null }], [1, { state: 'waiting', started: null, ended: null, expected: true }], [2, row('gone', 2)]], count: 3 }),
    place(4, { head: { status: 'running' }, rows: [[0, { state: 'running', ended: null }], [2, null]], so_far: [{ at: 40, seq: 4, text: 'So far' }], critical: [1, 0], queued: [[1, 7]] }),
  ],
  left_out: [],
} as unknown as Recorded);

const tasks = (at: number | null) => (recording.get('/runs/r/tasks', { at }) as { tasks: TaskRow[] }).tasks.map(({ task, state }) => `${task} ${state}`);

test('the last moment is what the server said, and an earlier one what was different then', () => {
  expect(tasks(null)).toEqual(['a done', 'b done']);
  expect(tasks(1)).toEqual(['a waiting', 'b waiting', 'gone done']);
  expect(tasks(5)).toEqual(['a running', 'b waiting']);
  expect(recording.get('/runs/r', { at: 4 })).toMatchObject({ run: 'r', status: 'running' });
  expect(recording.get('/runs/r', { at: 9 })).toMatchObject({ status: 'succeeded' });
});

test('a moment that is not in the file is the one before it', () => {
  expect([null, 0, 1, 3, 4, 8, 9, 99].map((at) => recording.nearest(at))).toEqual([null, 1, 1, 1, 4, 4, null, null]);
});

test('the timeline and the story of a moment know nothing of what came later', () => {
  const timeline = recording.get('/runs/r/timeline', { at: 4 }) as Timeline;
  expect(timeline.rows).toEqual({ task: ['a', 'b'], state: ['running', 'waiting'], queued: [0, 7], started: [5, 0], ended: [0, 0], retries: [[20], []] });
  expect([timeline.to, timeline.critical]).toEqual([40, [1, 0]]);
  expect(recording.get('/runs/r/story', { at: 4 })).toMatchObject({ sentences: [{ text: 'it began' }, { text: 'So far' }] });
});

test('what a task gave is not told of a moment before it ended', () => {
  expect(recording.get('/runs/r/task', { task: 'a' })).toMatchObject({ output: { text: 'a Finding here' } });
  expect(recording.get('/runs/r/task', { task: 'a', at: 4 })).toMatchObject({ state: 'running', output: null });
  expect(recording.get('/runs/r/task', { task: 'b', at: 4 })).toMatchObject({ state: 'waiting', tries: [] });
});

test('what is not in the file is refused in words', () => {
  for (const ask of [() => recording.get('/runs/r/task', { task: 'b' }), () => recording.get('/runs/other', {}), () => recording.get('/capacity', {}), () => recording.get('/runs/r/values/x', {})]) {
    expect(ask).toThrow(NotRecorded);
  }
});

test('a search finds what is in the file, whatever the letters', () => {
  const { hits, cut } = recording.get('/runs/r/search', { q: 'finding' }) as { hits: { where: string }[]; cut: boolean };
  expect([hits.map(({ where }) => where), cut]).toEqual([['prompt', 'output'], false]);
});
