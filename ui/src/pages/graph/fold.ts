// What the graph says about each step: counts of its tasks by state, the cells of its strip, and which edges were taken. Pure.

import type { Counts, Graph, GraphNode, State, TaskRow } from '../../api/types';
import { isOver } from '../../show/state';
import { CONTAINERS } from './layout';

export interface Figures {
  counts: Counts;
  /** Tasks that count: a frame counts what is inside, not itself. */
  total: number;
  tasks: TaskRow[];
  /** Its own tasks: those of the frame itself, where it is one. */
  own: TaskRow[];
}

/** Steps that are folded unless a person opens them. */
export function foldedAtFirst(graph: Graph): string[] {
  const members = new Map<string, number>();
  for (const { parent } of graph.nodes) if (parent) members.set(parent, (members.get(parent) ?? 0) + 1);
  return graph.nodes
    .filter(({ id, kind }) => (members.get(id) ?? 0) > 0 && (kind === 'for_each' || members.get(id)! > 12 || graph.nodes.length > 60))
    .map(({ id }) => id);
}

/** The tasks of every step, each counted in all frames around it. */
export function figures(graph: Graph, rows: TaskRow[]): Map<string, Figures> {
  const found = new Map<string, Figures>(graph.nodes.map(({ id }) => [id, { counts: {}, total: 0, tasks: [], own: [] }]));
  const parents = new Map(graph.nodes.map(({ id, parent }) => [id, parent]));
  const hasMembers = new Set(graph.nodes.map(({ parent }) => parent));
  const frames = new Set(graph.nodes.filter(({ id, kind }) => hasMembers.has(id) && CONTAINERS.includes(kind)).map(({ id }) => id));
  const leafless = graph.nodes.filter(({ id, kind }) => kind === 'for_each' && !hasMembers.has(id)).map(({ id }) => id);
  const fans = new Set(leafless);
  for (const row of rows) {
    const figure = found.get(row.node);
    if (!figure || row.aside) continue;
    // The task of a fan-out without members of its own is the frame around its items.
    if (frames.has(row.node) || (fans.has(row.node) && !row.task.endsWith(']'))) {
      figure.own.push(row);
      continue;
    }
    figure.own.push(row);
    for (let id: string | null | undefined = row.node; id; id = parents.get(id)) {
      const around = found.get(id);
      if (!around) break;
      around.tasks.push(row);
      around.total++;
      around.counts[row.state] = (around.counts[row.state] ?? 0) + 1;
    }
  }
  return found;
}

// The most pressing of some states stands for all of them.
const PRESSING: State[] = ['failed', 'asks', 'interrupted', 'retrying', 'running', 'blocked', 'cancelled', 'waiting', 'skipped', 'done'];
const RANK = Object.fromEntries(PRESSING.map((state, at) => [state, at])) as Record<State, number>;

export function mostPressing(states: Iterable<State>): State {
  let found: State = 'done';
  for (const state of states) if (RANK[state] < RANK[found]) found = state;
  return found;
}

/** How a step stands as a whole: while some of it goes on it goes on, however much of it has failed. */
export function standing(figure: Figures | undefined): State {
  if (!figure?.tasks.length && !figure?.own.length) return 'waiting';
  const states = new Set([...figure.own, ...figure.tasks].map((row) => row.state));
  if (states.has('asks')) return 'asks';
  if (states.has('interrupted')) return 'interrupted';
  const begun = [...states].some((state) => state !== 'waiting' && state !== 'blocked');
  const open = [...states].some((state) => !isOver(state));
  if (states.size === 1) return [...states][0]!;
  if (begun && open) return states.has('running') || !states.has('retrying') ? 'running' : 'retrying';
  return mostPressing(states);
}

export const MOST_CELLS = 400;

export interface Strip {
  cells: State[];
  /** Where a cell stands for several items: how many of them are in which state. */
  mixes: Counts[];
  items: number;
  /** How many items one cell stands for. */
  each: number;
}

/** A cell per item, up to 400; beyond, a cell per bucket of items, with what its items come to. */
export function strip(tasks: TaskRow[], expected: number, node: string): Strip {
  const items: (State | undefined)[] = [];
  const places = new Map<string, number>();
  const depth = node.split('/').length - 1;
  for (const row of tasks) {
    const at = placeOf(row.task, depth, places);
    const old = items[at];
    items[at] = old === undefined ? row.state : both(old, row.state);
  }
  const count = Math.max(expected, items.length);
  const each = Math.max(1, Math.ceil(count / MOST_CELLS));
  const cells: State[] = [];
  const mixes: Counts[] = [];
  for (let from = 0; from < count; from += each) {
    const mix: Counts = {};
    for (let at = from; at < Math.min(count, from + each); at++) {
      const state = items[at] ?? 'waiting';
      mix[state] = (mix[state] ?? 0) + 1;
    }
    cells.push(mostPressing(Object.keys(mix) as State[]));
    if (each > 1) mixes.push(mix);
  }
  return { cells, mixes, items: count, each };
}

// Items that are numbered stand at their number, others in the order in which they were first seen.
function placeOf(task: string, depth: number, places: Map<string, number>): number {
  const name = task.split('/', depth + 1).join('/');
  const number = /\[(\d+)\](?:#\d+)?$/.exec(name)?.[1];
  const known = places.get(name);
  if (known !== undefined) return known;
  const place = number !== undefined && Number(number) < 1_000_000 ? Number(number) : places.size;
  places.set(name, place);
  return place;
}

// An item of which a part is done and a part waits is under way.
function both(a: State, b: State): State {
  if (a === b) return a;
  const [first, second] = RANK[a] < RANK[b] ? [a, b] : [b, a];
  return (first === 'waiting' || first === 'blocked') && second === 'done' ? 'running' : first;
}

export type Way = 'taken' | 'not taken' | 'open';

/** Whether an edge was followed, was not, or still can be. */
export function way(from: Figures | undefined, to: Figures | undefined, kind: string, ended: boolean): Way {
  const begun = (figure: Figures | undefined) => !!figure && [...figure.own, ...figure.tasks].some((row) => row.state !== 'waiting' && row.state !== 'skipped');
  const over = (figure: Figures | undefined) => !!figure && figure.own.length + figure.tasks.length > 0 && [...figure.own, ...figure.tasks].every((row) => isOver(row.state));
  if (kind === 'back') {
    const visits = new Set((to?.own ?? []).map((row) => /#(\d+)/.exec(row.task)?.[1] ?? '1'));
    return visits.size > 1 ? 'taken' : ended || over(from) ? 'not taken' : 'open';
  }
  if (begun(from) && begun(to)) return kind === 'error' && !has(from, 'failed') ? 'not taken' : 'taken';
  return ended || (over(from) && over(to)) ? 'not taken' : 'open';
}

const has = (figure: Figures | undefined, state: State) => !!figure && [...figure.own, ...figure.tasks].some((row) => row.state === state);

/** How long the rest of a fan-out takes, from how fast its items ended lately. Null where nothing can be said. */
export function projected(tasks: TaskRow[], total: number, now: number): number | null {
  let ended = 0;
  let begin = Infinity;
  for (const row of tasks) {
    if (row.started) begin = Math.min(begin, row.started);
    if (isOver(row.state)) ended++;
  }
  if (ended < 5 || ended >= total || !Number.isFinite(begin) || now <= begin) return null;
  return ((now - begin) / 1_000 / ended) * (total - ended);
}

export const isFan = (node: GraphNode) => node.kind === 'for_each' || (node.count ?? 0) > 1;
