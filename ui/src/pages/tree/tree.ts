// Tasks as a tree: those of one kind at the top, and what they spawned below them. Pure.

import type { TaskRow } from '../../api/types';

export interface Branch {
  row: TaskRow;
  depth: number;
  children: number;
}

/** How a task is called in a tree: a question on the way of a step by its place below it, where its title is that of the step. */
export const nameOf = (row: TaskRow): string => (row.aside && row.parent ? row.task.slice(row.parent.length).replace(/^[/.]/, '') : row.title || row.task);

/** The children of every task, in the order of the run. */
export function childrenOf(rows: TaskRow[]): Map<string, TaskRow[]> {
  const found = new Map<string, TaskRow[]>();
  for (const row of rows) {
    if (!row.parent) continue;
    const those = found.get(row.parent);
    if (those) those.push(row);
    else found.set(row.parent, [row]);
  }
  return found;
}

/** The tree from its roots down, without what is below a folded task. */
export function branches(rows: TaskRow[], isTop: (row: TaskRow) => boolean, folded: ReadonlySet<string>): Branch[] {
  const children = childrenOf(rows);
  const known = new Map(rows.map((row) => [row.task, row]));
  // A goal below another goal is drawn there, not once more at the top.
  const isBelow = (row: TaskRow | undefined, guard = 0): boolean => {
    const parent = row?.parent ? known.get(row.parent) : undefined;
    return !!parent && guard < 64 && (isTop(parent) || isBelow(parent, guard + 1));
  };
  const isRoot = (row: TaskRow) => isTop(row) && !isBelow(row);
  const found: Branch[] = [];
  const walk = (row: TaskRow, depth: number) => {
    const those = children.get(row.task) ?? [];
    found.push({ row, depth, children: those.length });
    if (depth < 64 && !folded.has(row.task)) for (const child of those) walk(child, depth + 1);
  };
  for (const row of rows) if (isRoot(row)) walk(row, 0);
  return found;
}
