// What all runs come to, in a few figures. Pure.

import type { RunRow } from '../../api/types';
import { hasEnded } from '../../show/state';

export interface Summary {
  live: number;
  running: number;
  waiting: number;
  done: number;
  total: number;
  /** Runs that need a look: failed within the day, or not driven by any process, or with failed tasks while they run. */
  trouble: RunRow[];
  headline: string;
}

const DAY = 86_400_000_000;

export function summary(rows: RunRow[], now: number): Summary {
  const live = rows.filter((row) => row.live && !hasEnded(row.status));
  const sum = (of: (row: RunRow) => number) => live.reduce((total, row) => total + of(row), 0);
  const recent = rows.filter((row) => now - (row.ended ?? row.started) < DAY);
  const failed = recent.filter((row) => row.status === 'failed' || row.status === 'partial');
  const left = recent.filter((row) => !hasEnded(row.status) && !row.live && row.status !== 'parked');
  const hurt = live.filter((row) => (row.counts.failed ?? 0) > 0);
  return {
    live: live.length,
    running: sum((row) => (row.counts.running ?? 0) + (row.counts.retrying ?? 0)),
    waiting: sum((row) => (row.counts.waiting ?? 0) + (row.counts.blocked ?? 0)),
    done: sum((row) => row.counts.done ?? 0),
    total: sum((row) => Math.max(row.expected ?? 0, row.total)),
    trouble: [...hurt, ...left, ...failed],
    headline: headline(rows.length, live.length, hurt, left.length, failed.length),
  };
}

function headline(all: number, live: number, hurt: RunRow[], left: number, failed: number): string {
  // One line: failed tasks of runs that go on are said where nothing worse is; the list under it names them.
  const words = [];
  const tasks = hurt.reduce((total, row) => total + (row.counts.failed ?? 0), 0);
  if (failed) words.push(`${failed} ${failed === 1 ? 'run' : 'runs'} failed`);
  if (left) words.push(`${left} interrupted`);
  if (words.length) return words.join(', ');
  if (tasks) return `${tasks} ${tasks === 1 ? 'task' : 'tasks'} failed`;
  if (!all) return 'Nothing to worry about';
  return live ? 'All well' : 'All ended well';
}
