// Two runs task by task: what each took in both, those that differ most first. Pure.

import type { Comparison, Totals } from '../../api/types';

export interface Side {
  task: string;
  a: Totals | null;
  b: Totals | null;
  /** How much longer it took in b, in milliseconds; a task of one run counts whole. */
  more: number;
}

/** A call whose price is not known has no cost; a task that asked no model has cost nothing. */
export const costOf = (totals: Totals | null): number | null =>
  totals ? (totals.usage.cost_micros ?? (totals.usage.input_tokens ? null : 0)) : null;

export function sides(tasks: Comparison['tasks'], words: string): Side[] {
  const wanted = words.trim().toLowerCase();
  const found = tasks.filter(({ task }) => !wanted || task.toLowerCase().includes(wanted));
  const all = found.map(({ task, totals: [a, b] }) => ({ task, a, b, more: (b?.ms ?? 0) - (a?.ms ?? 0) }));
  return all.sort((x, y) => Number(!y.a || !y.b) - Number(!x.a || !x.b) || Math.abs(y.more) - Math.abs(x.more) || (x.task < y.task ? -1 : 1));
}
