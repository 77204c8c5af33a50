// The timeline of the run that is looked at. Read whole once; while the run goes on, read again at most every few seconds.

import { ApiError, get, segment } from '../../api/client';
import type { Timeline } from '../../api/types';

class TimelineStore {
  timeline: Timeline | null = $state.raw(null);
  critical: ReadonlySet<number> = $derived(new Set(this.timeline?.critical ?? []));
  error: ApiError | null = $state.raw(null);
  private of = '';
  private read = 0;
  private asked = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Shows a run up to a position. Asked again for the same, it reads what is new, when enough time has passed. */
  show(run: string, at: number | null): void {
    const of = `${run} ${at ?? ''}`;
    if (of !== this.of) {
      if (run !== this.of.split(' ')[0]) this.timeline = null;
      this.of = of;
      this.error = null;
      void this.fetch(run, at);
      return;
    }
    if (at !== null || this.timer !== undefined) return;
    // What takes long to read and draw is read seldom.
    const every = (this.timeline?.rows.task.length ?? 0) > 5_000 ? 10_000 : 2_000;
    this.timer = setTimeout(() => void this.fetch(run, at), Math.max(0, this.read + every - performance.now()));
  }

  leave(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.asked.abort();
    this.of = '';
  }

  private async fetch(run: string, at: number | null): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.asked.abort();
    const asked = (this.asked = new AbortController());
    try {
      const timeline = await get<Timeline>(`/runs/${segment(run)}/timeline`, { at }, asked.signal);
      if (asked.signal.aborted) return;
      this.timeline = timeline;
      this.read = performance.now();
    } catch (cause) {
      if (!asked.signal.aborted) this.error = cause as ApiError;
    }
  }
}

export const timelines = new TimelineStore();
