// The run that is looked at: its head and its tasks, live or at a past position.
//
// Live, it takes a first reading by pages and then only changed rows. At a past position it reads what the server folds up to there.

import { ApiError, get, segment } from '../api/client';
import { recorded } from '../api/recorded';
import { stream } from '../api/stream';
import type { Graph, RunHead, TaskRow } from '../api/types';
import { Tasks } from './tasks';

const PAGE = 1_000;
const NO_STREAM = recorded ? 0 : 600;
/** More rows than this are not read: the page says so and asks for a filter. */
export const MOST_ROWS = 20_000;
// A table of many rows is put together again at most this often; figures of the head follow every frame.
const REDRAW = [
  { above: 5_000, every: 400 },
  { above: 1_000, every: 150 },
] as const;

interface TaskPage {
  tasks: TaskRow[];
  total: number;
  next?: string | null;
  position: number;
}

class Run {
  run = $state('');
  /** A position in the past, or null: the present. */
  at: number | null = $state(null);
  head: RunHead | null = $state.raw(null);
  /** The newest position that is known, also while the past is shown. */
  newest = $state(0);
  rows: TaskRow[] = $state.raw([]);
  total = $state(0);
  graph: Graph | null = $state.raw(null);
  state: 'loading' | 'ready' | 'failed' = $state('loading');
  reading = $state(false);
  error: ApiError | null = $state.raw(null);
  cut = $derived(this.total > this.rows.length && !this.reading);

  private tasks = new Tasks();
  private asked = new AbortController();
  private leave: () => void = () => {};
  private timer: ReturnType<typeof setTimeout> | undefined;
  private drawn = 0;
  private waiting: ReturnType<typeof setTimeout> | undefined;
  /** From this position on the stream tells every change. */
  private since = 0;
  /** The oldest position that a page of rows was read at. */
  private oldest = 0;

  /** Looks at a run. Gives what ends that. */
  open(run: string): () => void {
    this.run = run;
    this.at = null;
    this.head = null;
    this.graph = null;
    this.newest = 0;
    this.empty();
    this.since = 0;
    void this.readGraph();
    this.leave = stream.follow(`run:${run}`, (type, data) => this.message(type, data));
    // The rows are read after the stream's snapshot, so that no change falls between. Without a stream they are read all the same.
    this.waiting = setTimeout(() => void this.read(this.at), NO_STREAM);
    return () => {
      this.leave();
      clearTimeout(this.waiting);
      this.asked.abort();
      clearTimeout(this.timer);
      if (this.run === run) this.run = '';
    };
  }

  /** Shows the run as it was at a position of its journal; null is the present. */
  showAt(at: number | null): void {
    if (at === this.at) return;
    clearTimeout(this.waiting);
    this.at = at;
    void this.read(at);
  }

  /** A task's row, if it was read. */
  row(task: string): TaskRow | undefined {
    void this.rows;
    return this.tasks.get(task);
  }

  /** Reads everything anew, after something that a change cannot tell. */
  again(): void {
    void this.readGraph();
    void this.read(this.at);
  }

  private empty(): void {
    this.tasks = new Tasks();
    this.rows = [];
    this.total = 0;
    this.state = 'loading';
    this.error = null;
  }

  private async readGraph(): Promise<void> {
    const run = this.run;
    try {
      const graph = await get<Graph>(`/runs/${segment(run)}/graph`);
      if (run === this.run) this.graph = graph;
    } catch {
      // The head says what is wrong with the run; the graph view says that there is none.
      if (run === this.run) this.graph = { nodes: [], edges: [] };
    }
  }

  private async read(at: number | null): Promise<void> {
    clearTimeout(this.waiting);
    this.asked.abort();
    const asked = (this.asked = new AbortController());
    this.oldest = Infinity;
    const base = `/runs/${segment(this.run)}`;
    this.reading = true;
    try {
      const head = await get<RunHead>(base, { at }, asked.signal);
      if (asked.signal.aborted) return;
      this.takeHead(head, at);
      const tasks = new Tasks();
      // What arrives by the stream meanwhile goes into the same rows.
      if (at === null && this.state !== 'ready') this.tasks = tasks;
      await this.readPages(base, at, asked.signal, at === null ? this.tasks : tasks);
      if (asked.signal.aborted) return;
      if (at !== null) this.tasks = tasks;
      this.reading = false;
      this.state = 'ready';
      this.error = null;
      this.draw();
      if (at === null && this.oldest < this.since) void this.read(null);
    } catch (cause) {
      if (asked.signal.aborted) return;
      this.reading = false;
      this.error = cause as ApiError;
      if (this.state !== 'ready') this.state = 'failed';
    }
  }

  private async readPages(base: string, at: number | null, signal: AbortSignal, into: Tasks): Promise<void> {
    let cursor: string | null = null;
    for (let read = 0; read < MOST_ROWS; ) {
      const page: TaskPage = await get<TaskPage>(`${base}/tasks`, { at, limit: PAGE, cursor }, signal);
      if (signal.aborted) return;
      into.take(page.tasks, page.position);
      this.oldest = Math.min(this.oldest, page.position);
      this.total = page.total;
      read += page.tasks.length;
      cursor = page.next ?? null;
      if (into === this.tasks) this.draw();
      if (!cursor || !page.tasks.length) return;
    }
  }

  private message(type: string, data: any): void {
    const head: RunHead | undefined = data.head;
    if (head) {
      this.newest = Math.max(this.newest, head.position);
      if (this.at === null) this.takeHead(head, null);
    }
    if (this.at !== null) return;
    if (type === 'snapshot') {
      this.since = data.position ?? head?.position ?? 0;
      if (!this.reading && this.oldest <= this.since) void this.read(null);
    } else if (type === 'tasks') {
      if (data.gone?.length && this.tasks.remove(data.gone)) this.drawSoon();
      this.take(data.rows ?? [], data.position);
    }
  }

  private takeHead(head: RunHead, at: number | null): void {
    this.newest = Math.max(this.newest, head.position);
    if (at === null && this.head && this.head.run === head.run && this.head.position > head.position && this.at === null && this.state === 'ready') return;
    this.head = head;
  }

  private take(rows: TaskRow[], position: number): void {
    if (!this.tasks.take(rows, position)) return;
    this.total = Math.max(this.total, this.tasks.size);
    this.drawSoon();
  }

  private drawSoon(): void {
    // Until the rows are read, what arrives would stand where others belong, and move under a hand.
    if (this.timer !== undefined || this.state === 'loading' || this.reading) return;
    const every = REDRAW.find(({ above }) => this.tasks.size > above)?.every ?? 0;
    const wait = Math.max(0, this.drawn + every - performance.now());
    if (wait === 0) this.draw();
    else this.timer = setTimeout(() => this.draw(), wait);
  }

  private draw(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.drawn = performance.now();
    this.rows = this.tasks.list();
    if (this.rows.length && this.state === 'loading') this.state = 'ready';
  }
}

export const current = new Run();
