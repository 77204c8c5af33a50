// Words, order and drawing of states. A state is a colour and a shape, so that neither must be seen.

import type { Counts, State } from '../api/types';

/** All states, in the order in which bars and lists show them. */
export const STATES: State[] = ['done', 'running', 'retrying', 'asks', 'failed', 'interrupted', 'blocked', 'waiting', 'skipped', 'cancelled'];

/** How a state reads behind a number: "11 running". */
export const WORDS: Record<State, string> = {
  done: 'done',
  running: 'running',
  retrying: 'retrying',
  asks: 'asking',
  failed: 'failed',
  interrupted: 'interrupted',
  blocked: 'blocked',
  waiting: 'waiting',
  skipped: 'skipped',
  cancelled: 'cancelled',
};

/** The drawing of a state in a box of 12 by 12: filled parts and lines. */
export const SHAPES: Record<State, { fill?: string; line?: string }> = {
  waiting: { line: 'M6 1.8a4.2 4.2 0 1 0 0 8.4a4.2 4.2 0 1 0 0-8.4z' },
  blocked: { line: 'M6 1.8a4.2 4.2 0 1 0 0 8.4a4.2 4.2 0 1 0 0-8.4zM3.6 6h4.8' },
  running: { line: 'M6 1.8a4.2 4.2 0 1 0 0 8.4a4.2 4.2 0 1 0 0-8.4z', fill: 'M6 1.8a4.2 4.2 0 0 1 0 8.4z' },
  done: { fill: 'M6 1a5 5 0 1 0 0 10a5 5 0 1 0 0-10z' },
  failed: { line: 'M2.4 2.4l7.2 7.2M9.6 2.4l-7.2 7.2' },
  asks: { fill: 'M2.5 1.5h2.6v9H2.5zM6.9 1.5h2.6v9H6.9z' },
  skipped: { line: 'M6 1.8a4.2 4.2 0 1 0 0 8.4a4.2 4.2 0 1 0 0-8.4zM3 3l6 6' },
  cancelled: { line: 'M2 2h8v8H2zM3 3l6 6' },
  retrying: { line: 'M9.9 4.2A4.4 4.4 0 1 0 10.4 6.6', fill: 'M11.4 1.2v4.2H7.2z' },
  interrupted: { line: 'M6 1v3.6M6 7.4V11M1.6 6h2.6M7.8 6h2.6' },
};

/** The state that a run's status is drawn as. */
export function stateOfRun(status: string, live: boolean): State {
  switch (status) {
    case 'succeeded':
      return 'done';
    case 'failed':
    case 'partial':
      return 'failed';
    case 'parked':
      return 'asks';
    case 'blocked':
      return 'blocked';
    case 'interrupted':
      return 'interrupted';
    case 'cancelled':
      return 'cancelled';
    case 'skipped_all':
      return 'skipped';
    default:
      return live ? 'running' : 'interrupted';
  }
}

/** How a run's status reads. */
export function statusWord(status: string): string {
  if (status === 'parked') return 'waits for you';
  if (status === 'partial') return 'partly done';
  if (status === 'skipped_all') return 'all skipped';
  return status;
}

export const hasEnded = (status: string) => ['succeeded', 'partial', 'failed', 'skipped_all', 'cancelled'].includes(status);
export const isOver = (state: State) => state === 'done' || state === 'failed' || state === 'skipped' || state === 'cancelled';

/** "11 running, 3 failed": what is not zero, the most pressing first. */
export function countsText(counts: Counts, leaveOut: State[] = []): string {
  const order: State[] = ['asks', 'failed', 'interrupted', 'retrying', 'running', 'blocked', 'waiting', 'skipped', 'cancelled', 'done'];
  return order
    .filter((state) => (counts[state] ?? 0) > 0 && !leaveOut.includes(state))
    .map((state) => `${count(counts[state]!)} ${WORDS[state]}`)
    .join(', ');
}

/** A number with its thousands apart: 10 000. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}
