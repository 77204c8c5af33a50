// What the events of one task tell of a goal, a phase or a merge: decisions with their reasons, sources, flags, announcements. Pure.

import type { Decision, Stamped } from '../api/types';

export interface Told {
  decisions: Decision[];
  strategy: string | null;
  sources: { task: string; missing: boolean }[];
  flags: Record<string, unknown>;
  announced: { kind: string; payload: unknown }[];
  /** Whose results it was handed. */
  from: string[];
  why: string | null;
}

/** Folds the events of a task, as far as a position. */
export function told(events: Stamped[], until: number | null): Told {
  const found: Told = { decisions: [], strategy: null, sources: [], flags: {}, announced: [], from: [], why: null };
  for (const { seq, at, event } of events) {
    if (until !== null && seq > until) break;
    const [kind, data] = Object.entries(event)[0] ?? [];
    if (kind && data) take(found, kind, data, at);
  }
  return found;
}

function take(found: Told, kind: string, data: any, at: number): void {
  switch (kind) {
    case 'goal_decided':
      found.decisions.push({ chosen: data.chosen, reason: data.reason, at, about: data.about ?? null, role: data.role ?? null });
      break;
    case 'phase_decided':
      found.decisions.push({ chosen: data.chosen, reason: data.reason, at });
      found.why = data.reason;
      for (const from of data.from ?? []) if (!found.from.includes(from)) found.from.push(from);
      break;
    case 'merge_started': {
      const missing = new Set((data.missing ?? []).map((one: { task: string }) => one.task));
      found.strategy = typeof data.strategy === 'string' ? data.strategy : (Object.keys(data.strategy ?? {})[0] ?? null);
      found.sources = [...(data.sources ?? []), ...missing].map((task: string) => ({ task, missing: missing.has(task) }));
      break;
    }
    case 'outputs_missed': {
      const missing = new Set((data.missing ?? []).map((one: { task: string }) => one.task));
      found.sources = found.sources.map((source) => (missing.has(source.task) ? { ...source, missing: true } : source));
      break;
    }
    case 'state_changed':
      Object.assign(found.flags, data.flags ?? {}, data.metadata ?? {});
      break;
    case 'announced':
      found.announced.push({ kind: data.kind, payload: data.payload });
      break;
  }
}
