// What kind of step a task belongs to, by the plan: the server names a kind only for steps, not for what they spawn. Pure.

import type { Graph, TaskRow } from '../api/types';

export type KindOf = (row: TaskRow) => string;

/** The kind of a task's own step; '' for a task that another one spawned. */
export function kinds(graph: Graph | null, rowOf: (task: string) => TaskRow | undefined): KindOf {
  const byNode = new Map(graph?.nodes.map(({ id, kind }) => [id, kind]) ?? []);
  return (row) => {
    const parent = row.parent ? rowOf(row.parent) : undefined;
    // What a step spawns carries the id of that step.
    if (parent && parent.node === row.node) return '';
    return byNode.get(row.node) ?? row.kind ?? '';
  };
}
