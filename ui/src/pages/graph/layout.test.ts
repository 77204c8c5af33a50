import { expect, test } from 'vitest';
import type { Graph, GraphNode } from '../../api/types';
import { layout, type Box } from './layout';

const node = (id: string, kind: string, parent?: string): GraphNode => ({ id, kind, title: id, parent: parent ?? null, needs: [] });
const graph: Graph = {
  nodes: [node('plan', 'agent'), node('each', 'for_each'), node('each/read', 'agent', 'each'), node('each/check', 'agent', 'each'), node('gate', 'gate'), node('end', 'end')],
  edges: [
    { from: 'plan', to: 'each', kind: 'need' },
    { from: 'each/read', to: 'each/check', kind: 'route' },
    { from: 'each', to: 'gate', kind: 'need' },
    { from: 'gate', to: 'plan', kind: 'back', label: 'again' },
    { from: 'gate', to: 'end', kind: 'route' },
  ],
};
const inside = (inner: Box, outer: Box) =>
  inner.x >= outer.x && inner.y >= outer.y && inner.x + inner.width <= outer.x + outer.width && inner.y + inner.height <= outer.y + outer.height;
const apart = (a: Box, b: Box) => a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;

test('members stand inside their frame, and boxes of one frame do not overlap', () => {
  const { boxes } = layout(graph, new Set());
  const box = Object.fromEntries(boxes.map((each) => [each.id, each]));
  expect(box.each!.frame).toBe(true);
  for (const id of ['each/read', 'each/check']) expect(inside(box[id]!, box.each!)).toBe(true);
  const top = boxes.filter(({ depth }) => depth === 0);
  for (const a of top) for (const b of top) if (a !== b) expect(apart(a, b), `${a.id} ${b.id}`).toBe(true);
});

test('what comes later stands further right, also when a route leads back', () => {
  const { boxes, lines } = layout(graph, new Set(['each']));
  const x = Object.fromEntries(boxes.map((box) => [box.id, box.x]));
  expect([x.plan! < x.each!, x.each! < x.gate!, x.gate! < x.end!]).toEqual([true, true, true]);
  const back = lines.find(({ kind }) => kind === 'back')!;
  expect(back.points[0]!.x).toBeGreaterThan(back.points.at(-1)!.x);
});

test('a folded frame hides its members and keeps its edges', () => {
  const { boxes, lines } = layout(graph, new Set(['each']));
  expect(boxes.map(({ id }) => id)).not.toContain('each/read');
  expect(lines.length).toBe(4);
});

test('an empty plan and an edge to nowhere are no trouble', () => {
  expect(layout({ nodes: [], edges: [] }, new Set()).boxes).toEqual([]);
  expect(layout({ nodes: [node('a', 'agent')], edges: [{ from: 'a', to: 'b', kind: 'route' }] }, new Set()).lines).toEqual([]);
});
