// The levels of a merge, from its sources to its one answer, with the state of every call. Pure.

import type { Counts, State, TaskDetail, TaskRow } from '../../api/types';

export interface Level {
  name: string;
  cells: State[];
  counts: Counts;
}

export function levels(row: TaskRow, detail: TaskDetail | undefined, rows: TaskRow[], stateOf: (task: string) => State | undefined): Level[] {
  const found: Level[] = [];
  const composite = detail?.composite;
  if (composite?.sources?.length) {
    found.push(level('sources', composite.sources.map((source) => (source.missing ? 'failed' : ((source.task && stateOf(source.task)) || 'done')))));
  }
  if (composite?.levels?.length) {
    for (const each of composite.levels) found.push(level(`level ${each.level}`, each.tasks.map((task) => stateOf(task) ?? 'waiting')));
  } else {
    const children = rows.filter((child) => child.parent === row.task);
    if (children.length) found.push(level('calls', children.map((child) => child.state)));
  }
  found.push(level('answer', [row.state]));
  return found;
}

function level(name: string, cells: State[]): Level {
  const counts: Counts = {};
  for (const state of cells) counts[state] = (counts[state] ?? 0) + 1;
  return { name, cells, counts };
}
