// The levels of a merge, from its sources to its one answer, with the state of every call. Pure.

import type { Counts, State, TaskRow } from '../../api/types';
import type { Told } from '../../store/told';

export interface Level {
  name: string;
  cells: State[];
  counts: Counts;
  tasks: string[];
}

/** A call of a merge is named by its level and number: `merge/2.13`. What is named otherwise is on a level of its own. */
export function levels(row: TaskRow, told: Told | undefined, rows: TaskRow[], stateOf: (task: string) => State | undefined): Level[] {
  const found: Level[] = [];
  if (told?.sources.length) {
    found.push(level('sources', told.sources.map(({ task, missing }) => ({ task, state: missing ? 'failed' : (stateOf(task) ?? 'done') }))));
  }
  const calls = new Map<string, { task: string; state: State }[]>();
  for (const child of rows) {
    if (child.parent !== row.task) continue;
    const number = /(?:^|\/)(\d+)\.\d+$/.exec(child.task)?.[1];
    const name = number ? `level ${number}` : 'calls';
    const those = calls.get(name);
    if (those) those.push(child);
    else calls.set(name, [child]);
  }
  for (const [name, those] of calls) found.push(level(name, those));
  found.push(level('answer', [row]));
  return found;
}

function level(name: string, tasks: { task: string; state: State }[]): Level {
  const counts: Counts = {};
  for (const { state } of tasks) counts[state] = (counts[state] ?? 0) + 1;
  return { name, cells: tasks.map(({ state }) => state), counts, tasks: tasks.map(({ task }) => task) };
}
