// A run that this page was made with, where the page is a file of its own (`convoke export RUN --html`): what a server answered once.
//
// The file holds the answers for the last moment of the run, and for some earlier ones what was different then. Nothing is asked of anybody.

import type { Graph, Hit, Marker, Question, RunHead, Sentence, Stamped, TaskDetail, TaskRow, Timeline } from './types';

interface Place {
  position: number;
  at: number;
  head: Partial<RunHead>;
  rows: [number, Partial<TaskRow> | null][];
  count: number;
  so_far: Sentence[];
  idle: [number, number][];
  critical: number[];
  queued: [number, number][];
}

export interface Recorded {
  version: string;
  made: number;
  head: RunHead;
  tasks: { tasks: TaskRow[]; total: number };
  graph: Graph;
  timeline: Timeline;
  story: { sentences: Sentence[]; cut: number };
  markers: { markers: Marker[] };
  details: Record<string, TaskDetail>;
  told: Record<string, { events: Stamped[] }>;
  places: Place[];
  left_out: string[];
}

/** Why there is no answer. The client gives it the shape of a refusal. */
export class NotRecorded extends Error {
  constructor(
    message: string,
    readonly hint: string | null = null,
  ) {
    super(message);
  }
}

const MOST_HITS = 200;
const AROUND = 80;

/** Answers as the server would, as far as the file goes. */
export class Recording {
  private base: Map<number, TaskRow>;
  private kept: { at: number; rows: TaskRow[] } | null = null;

  constructor(readonly file: Recorded) {
    this.base = new Map(file.tasks.tasks.map((row) => [row.order, row]));
  }

  get run(): string {
    return this.file.head.run;
  }

  /** What waits for a person. */
  get questions(): Question[] {
    const asking = this.file.tasks.tasks.filter(({ state }) => state === 'asks');
    return asking.map(({ task }) => this.file.details[task]?.question).filter((one): one is Question => !!one);
  }

  /** The position that is in the file at or before one; null is the last. */
  nearest(position: number | null): number | null {
    const at = this.placeAt(position);
    return at === null ? null : this.file.places[at]!.position;
  }

  get(path: string, query: Record<string, unknown> = {}): unknown {
    const [, runs, run, what = ''] = path.split('/').map(decodeURIComponent);
    if (runs !== 'runs' || run !== this.run) throw new NotRecorded('this file holds one run, and nothing else');
    const at = this.placeAt(typeof query.at === 'number' ? query.at : null);
    switch (what) {
      case '':
        return at === null ? this.file.head : { ...this.file.head, ...this.file.places[at]!.head };
      case 'tasks':
        return this.tasks(at);
      case 'graph':
        return this.file.graph;
      case 'timeline':
        return at === null ? this.file.timeline : this.timeline(at);
      case 'story':
        return at === null ? this.file.story : this.story(at);
      case 'markers':
        return this.file.markers;
      case 'task':
        return this.task(String(query.task), at);
      case 'events':
        return this.file.told[String(query.task)] ?? { events: [] };
      case 'search':
        return this.search(String(query.q));
      default:
        throw new NotRecorded('this is not in the file');
    }
  }

  private placeAt(position: number | null): number | null {
    if (position === null || position >= this.file.head.position) return null;
    const at = this.file.places.findLastIndex((place) => place.position <= position);
    return at >= 0 ? at : this.file.places.length ? 0 : null;
  }

  private rowsAt(at: number): TaskRow[] {
    if (this.kept?.at === at) return this.kept.rows;
    const found = new Map<number, TaskRow>();
    for (const place of this.file.places.slice(0, at + 1)) {
      for (const [order, then] of place.rows) {
        if (then) found.set(order, { ...this.base.get(order), ...then } as TaskRow);
        else found.delete(order);
      }
    }
    const rows = [...found.values()].sort((a, b) => a.order - b.order);
    this.kept = { at, rows };
    return rows;
  }

  private tasks(at: number | null): unknown {
    const { head, tasks, places } = this.file;
    if (at === null) return { ...tasks, next: null, position: head.position };
    const rows = this.rowsAt(at);
    return { tasks: rows, total: Math.max(rows.length, places[at]!.count), next: null, position: places[at]!.position };
  }

  private timeline(at: number): Timeline {
    const place = this.file.places[at]!;
    const rows = this.rowsAt(at);
    const last = this.file.timeline;
    const retries = new Map(last.rows.task.map((task, row) => [task, last.rows.retries[row] ?? []]));
    const queued = new Map(place.queued);
    const index = new Map(rows.map((row, number) => [row.order, number]));
    return {
      from: last.from,
      to: place.at,
      position: place.position,
      idle: place.idle,
      critical: place.critical.map((order) => index.get(order)).filter((row) => row !== undefined),
      rows: {
        task: rows.map((row) => row.task),
        state: rows.map((row) => row.state),
        queued: rows.map((row) => queued.get(row.order) ?? row.queued_ms),
        started: rows.map((row) => row.started ?? 0),
        ended: rows.map((row) => row.ended ?? 0),
        retries: rows.map((row) => (retries.get(row.task) ?? []).filter((retry) => retry <= place.at)),
      },
    };
  }

  private story(at: number): unknown {
    const { position, so_far } = this.file.places[at]!;
    const sentences = this.file.story.sentences.filter(({ seq }) => seq <= position);
    return { sentences: [...sentences, ...so_far], cut: this.file.story.cut };
  }

  private task(task: string, at: number | null): TaskDetail {
    const row = (at === null ? this.file.tasks.tasks : this.rowsAt(at)).find((one) => one.task === task);
    const detail = this.file.details[task];
    if (!row) throw new NotRecorded(at === null ? `this file has no task \`${task}\`` : 'this task was not there yet');
    if (row.expected) return { ...row, tries: [] };
    if (!detail) {
      throw new NotRecorded('what was asked and said in this task was left out of the file: there was no more room', `convoke show ${this.run} '${task}'`);
    }
    if (at === null) return detail;
    const isOver = ['done', 'failed', 'skipped', 'cancelled'].includes(row.state);
    const { at: moment } = this.file.places[at]!;
    return {
      ...detail,
      ...row,
      tries: detail.tries.filter(({ started }) => started <= moment),
      ...(isOver ? {} : { output: null, partial: null, failed: null, causes: [], question: null, waits_for: [] }),
    };
  }

  private search(q: string): { hits: Hit[]; cut: boolean } {
    const hits: Hit[] = [];
    let cut = false;
    const word = q.toLowerCase();
    const look = (task: string, where: string, text: string | null | undefined) => {
      const from = text ? text.toLowerCase().indexOf(word) : -1;
      if (!text || from < 0 || cut) return;
      if (hits.length === MOST_HITS) return void (cut = true);
      hits.push({ task, where, seq: 0, excerpt: text.slice(Math.max(0, from - AROUND), from + q.length + AROUND) });
    };
    for (const { task } of this.file.tasks.tasks) {
      const detail = this.file.details[task];
      look(task, 'task', task);
      if (!detail) continue;
      for (const part of detail.prompt?.parts ?? []) look(task, 'prompt', part.text);
      look(task, 'question', detail.question?.text);
      for (const turn of detail.conversation ?? []) look(task, 'conversation', turn.text ?? turn.arguments);
      look(task, 'output', (detail.output as { text?: string } | null)?.text);
      look(task, 'failure', detail.failed?.message);
    }
    return { hits, cut };
  }
}

function read(): Recording | null {
  const text = typeof document === 'undefined' ? null : document.getElementById('recorded-run')?.textContent;
  return text ? new Recording(JSON.parse(text) as Recorded) : null;
}

export const recorded = read();
