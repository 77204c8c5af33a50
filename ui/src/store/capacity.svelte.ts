// Limits, budgets and processes of the machine, as the server says them. Each change replaces the whole: it is small.

import { ApiError, get } from '../api/client';
import { stream } from '../api/stream';
import type { Capacity, Limit } from '../api/types';

class CapacityStore {
  limits: Limit[] = $state.raw([]);
  budgets: NonNullable<Capacity['budgets']> = $state.raw([]);
  processes: NonNullable<Capacity['processes']> = $state.raw([]);
  state: 'loading' | 'ready' | 'failed' = $state('loading');
  error: ApiError | null = $state.raw(null);
  /** How full the fullest limits were, for the line at the top of the page: 0 to 1. */
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

  replace(limit: Limit): void {
    this.limits = this.limits.map((old) => (old.name === limit.name ? { ...old, ...limit } : old));
  }

  private take(capacity: Partial<Capacity>): void {
    if (capacity.limits) this.limits = capacity.limits;
    if (capacity.budgets) this.budgets = capacity.budgets;
    if (capacity.processes) this.processes = capacity.processes;
    this.state = 'ready';
    this.error = null;
    this.recent = lately(this.limits) ?? [...this.recent.slice(-29), fullness(this.limits)];
  }
}

/** How full the fullest limit is: 0 to 1. */
export function fullness(limits: Limit[]): number {
  return limits.reduce((most, { used, limit }) => (limit ? Math.max(most, Math.min(1, used / limit)) : most), 0);
}

/** The last hour of the fullest limit, as shares of it. Null where no history is known. */
export function lately(limits: Limit[]): number[] | null {
  const full = fullness(limits);
  const fullest = limits.find(({ used, limit, history }) => limit && history?.length && Math.min(1, used / limit) === full);
  return fullest ? [...fullest.history!.slice(-23).map((used) => Math.min(1, used / fullest.limit!)), full] : null;
}

export const capacity = new CapacityStore();
