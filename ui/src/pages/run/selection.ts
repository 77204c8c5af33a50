// Which tasks a table shows, in which order. Pure.

import type { State, TaskRow } from '../../api/types';

export const SORTS = ['order', 'slowest', 'waited', 'cost', 'changed'] as const;
export type Sort = (typeof SORTS)[number];

export interface Wanted {
  states: State[];
  /** A step of the plan: itself and what is inside it. */
  node: string;
  words: string;
  sort: Sort;
}

const BY: Record<Exclude<Sort, 'order'>, (row: TaskRow) => number> = {
  slowest: (row) => row.ran_ms,
  waited: (row) => row.queued_ms,
  cost: (row) => row.cost_micros ?? -1,
  changed: (row) => row.since,
};

/** The rows that are wanted. Without a wish it is the array itself. */
export function selection(rows: TaskRow[], { states, node, words, sort }: Wanted): TaskRow[] {
  let found = rows;
  if (states.length) found = found.filter((row) => states.includes(row.state));
  if (node) found = found.filter((row) => within(row, node));
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (parts.length) {
    found = found.filter((row) => {
      const text = `${row.task} ${row.title} ${row.failure ?? ''} ${row.doing ?? ''} ${row.waits ?? ''}`.toLowerCase();
      return parts.every((part) => text.includes(part));
    });
  }
  if (sort === 'order') return found;
  const by = BY[sort];
  return found.toSorted((a, b) => by(b) - by(a) || a.order - b.order);
}

/** Whether a task belongs to a step of the plan, or to a step inside of it. */
export function within(row: TaskRow, node: string): boolean {
  return row.node === node || row.node.startsWith(`${node}/`) || row.node.startsWith(`${node}[`);
}
