// The list of runs: a page of it by the filters of the address, and the changed rows as the server sends them.

import { ApiError, get } from '../api/client';
import { stream } from '../api/stream';
import type { RunRow } from '../api/types';

export interface Filter {
  status: string;
  workflow: string;
  q: string;
}

interface Page {
  runs: RunRow[];
  next?: string | null;
  totals: Totals;
}

export interface Totals {
  by_status: Record<string, number>;
  cost_micros_today: number | null;
}

const PAGE = 200;

class Runs {
  rows: RunRow[] = $state.raw([]);
  totals: Totals | null = $state.raw(null);
  next: string | null = $state(null);
  state: 'loading' | 'ready' | 'failed' = $state('loading');
  error: ApiError | null = $state.raw(null);
  private filter: Filter = { status: '', workflow: '', q: '' };
  private asked: AbortController | null = null;
  private counted = 0;

  /** Follows the runs for as long as the page is open. */
  start(): void {
    stream.follow('runs', (_, data) => {
      if (data.totals) this.totals = data.totals;
      this.apply(data.rows ?? data.runs ?? [], data.gone ?? []);
      if (!data.totals) this.countAgain();
    });
  }

  /** Shows the runs that a filter lets through. */
  async show(filter: Filter): Promise<void> {
    this.filter = filter;
    this.asked?.abort();
    const asked = (this.asked = new AbortController());
    if (!this.rows.length) this.state = 'loading';
    try {
      const page = await get<Page>('/runs', { ...filter, limit: PAGE }, asked.signal);
      if (asked.signal.aborted) return;
      this.rows = sorted(page.runs);
      this.totals = page.totals;
      this.next = page.next ?? null;
      this.state = 'ready';
      this.error = null;
    } catch (cause) {
      if (asked.signal.aborted) return;
      this.error = cause as ApiError;
      this.state = 'failed';
    }
  }

  async more(): Promise<void> {
    const page = await get<Page>('/runs', { ...this.filter, limit: PAGE, cursor: this.next });
    this.next = page.next ?? null;
    this.apply(page.runs, []);
  }

  // A filter may hide runs whose change matters to the totals, so the server counts them, at most every few seconds.
  private countAgain(): void {
    const now = Date.now();
    if (now - this.counted < 5_000) return;
    this.counted = now;
    get<Page>('/runs', { limit: 1 }).then((page) => (this.totals = page.totals), () => {});
  }

  private apply(changed: RunRow[], gone: string[]): void {
    if (!changed.length && !gone.length) return;
    const byId = new Map(this.rows.map((row) => [row.run, row]));
    for (const run of gone) byId.delete(run);
    for (const row of changed) {
      if (passes(row, this.filter)) byId.set(row.run, row);
      else byId.delete(row.run);
    }
    this.rows = sorted([...byId.values()]);
  }
}

/** Whether a run is in a filtered list. The server decides for the first page by the same words. */
export function passes(row: RunRow, filter: Filter): boolean {
  if (filter.status && !filter.status.split(',').includes(row.status)) return false;
  if (filter.workflow && row.workflow !== filter.workflow) return false;
  const q = filter.q.toLowerCase();
  return !q || row.run.toLowerCase().includes(q) || row.workflow.toLowerCase().includes(q) || (row.folder ?? '').toLowerCase().includes(q);
}

/** The newest first. */
function sorted(rows: RunRow[]): RunRow[] {
  return rows.sort((a, b) => b.started - a.started || (a.run < b.run ? 1 : -1));
}

export const runs = new Runs();
