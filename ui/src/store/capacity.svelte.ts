// Limits and processes of the machine, as the server says them. Each change replaces the whole: it is small.
//
// What was used in the last hour comes with each limit; how full the fullest was is kept since the page was opened.

import { ApiError, get } from '../api/client';
import { stream } from '../api/stream';
import type { Capacity, Limit, Process } from '../api/types';

const KEPT = 30;

class CapacityStore {
  limits: Limit[] = $state.raw([]);
  processes: Process[] = $state.raw([]);
  state: 'loading' | 'ready' | 'failed' = $state('loading');
  error: ApiError | null = $state.raw(null);
  /** How full the fullest limit was, for the line at the top of the page: 0 to 1. */
  recent: number[] = $state.raw([]);

  start(): void {
    get<Capacity>('/capacity').then(
      (capacity) => this.take(capacity),
      (cause: ApiError) => {
        this.error = cause;
        if (this.state === 'loading') this.state = 'failed';
      },
    );
    stream.follow('capacity', (_, data) => this.take(data));
  }

  change(name: string, value: number): void {
    this.limits = this.limits.map((old) => (old.name === name ? { ...old, limit: value, by_hand: true } : old));
  }

  private take(capacity: Capacity): void {
    this.limits = capacity.limits;
    this.processes = capacity.processes;
    this.state = 'ready';
    this.error = null;
    this.recent = [...this.recent.slice(1 - KEPT), fullness(this.limits)];
  }
}

/** How full the fullest limit is: 0 to 1. */
export function fullness(limits: Limit[]): number {
  return limits.reduce((most, { used, limit }) => (limit ? Math.max(most, Math.min(1, used / limit)) : most), 0);
}

export const capacity = new CapacityStore();
