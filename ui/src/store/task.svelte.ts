// The task that is looked at: its detail, and its answer as it grows. Read again when its row changes, at most once a second.

import { ApiError, get, segment } from '../api/client';
import { stream } from '../api/stream';
import type { TaskDetail } from '../api/types';

const AT_MOST_EVERY = 1_000;

class Task {
  detail: TaskDetail | null = $state.raw(null);
  /** The answer that is being written, with how much of its beginning was dropped. */
  text: { attempt: number; text: string; dropped: number } | null = $state.raw(null);
  state: 'loading' | 'ready' | 'failed' = $state('loading');
  error: ApiError | null = $state.raw(null);
  private run = '';
  private task = '';
  private at: number | null = null;
  private asked = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private read = 0;

  open(run: string, task: string, at: number | null): () => void {
    const same = this.run === run && this.task === task;
    [this.run, this.task, this.at] = [run, task, at];
    if (!same) {
      this.detail = null;
      this.text = null;
      this.state = 'loading';
    }
    void this.fetch();
    const leave = at === null ? stream.follow(`task:${run}:${task}`, (type, data) => this.message(type, data)) : () => {};
    return () => {
      leave();
      this.asked.abort();
      clearTimeout(this.timer);
      this.timer = undefined;
    };
  }

  /** Its row has changed: what is shown is old. */
  changed(): void {
    if (this.timer !== undefined) return;
    const wait = Math.max(0, this.read + AT_MOST_EVERY - performance.now());
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.fetch();
    }, wait);
  }

  private message(type: string, data: any): void {
    if (type === 'text') this.text = { attempt: data.attempt, text: data.text, dropped: data.dropped ?? 0 };
    else if (data.detail) this.detail = data.detail;
  }

  private async fetch(): Promise<void> {
    this.asked.abort();
    const asked = (this.asked = new AbortController());
    this.read = performance.now();
    try {
      const detail = await get<TaskDetail>(`/runs/${segment(this.run)}/task`, { task: this.task, at: this.at }, asked.signal);
      if (asked.signal.aborted) return;
      this.detail = detail;
      this.state = 'ready';
      this.error = null;
      if (detail.state !== 'running') this.text = null;
    } catch (cause) {
      if (asked.signal.aborted) return;
      this.error = cause as ApiError;
      if (!this.detail) this.state = 'failed';
    }
  }
}

export const task = new Task();
