// The tasks of one run as rows, from pages and from changes that arrive in between. Pure.
//
// What it keeps true: each row is the newest that was seen, by the position in the journal that it came with, whatever arrives first.

import type { TaskRow } from '../api/types';

export class Tasks {
  private rows: TaskRow[] = [];
  private index = new Map<string, number>();
  private seen: number[] = [];
  private ordered = true;

  get size(): number {
    return this.rows.length;
  }

  /** Takes rows as they were at a position. Gives whether anything is different. A row that names its last event is placed by that. */
  take(rows: TaskRow[], position: number): boolean {
    let changed = false;
    for (const row of rows) {
      const seen = row.changed ?? position;
      const at = this.index.get(row.task);
      if (at === undefined) {
        const last = this.rows.at(-1);
        if (last && last.order > row.order) this.ordered = false;
        this.index.set(row.task, this.rows.length);
        this.rows.push(row);
        this.seen.push(seen);
        changed = true;
      } else if (this.seen[at]! <= seen) {
        if (this.rows[at]!.order !== row.order) this.ordered = false;
        this.rows[at] = row;
        this.seen[at] = seen;
        changed = true;
      }
    }
    return changed;
  }

  /** Forgets tasks that a restart took away. */
  remove(gone: string[]): boolean {
    const those = new Set(gone.filter((task) => this.index.has(task)));
    if (!those.size) return false;
    const kept = this.rows.map((_, at) => at).filter((at) => !those.has(this.rows[at]!.task));
    this.keep(kept);
    return true;
  }

  get(task: string): TaskRow | undefined {
    const at = this.index.get(task);
    return at === undefined ? undefined : this.rows[at];
  }

  /** A new array, in the order of the run, so that what is drawn from it sees a change. */
  list(): TaskRow[] {
    if (!this.ordered) this.order();
    return this.rows.slice();
  }

  private order(): void {
    const places = this.rows.map((_, at) => at).sort((a, b) => this.rows[a]!.order - this.rows[b]!.order);
    this.keep(places);
    this.ordered = true;
  }

  private keep(places: number[]): void {
    const { rows, seen } = this;
    this.rows = places.map((at) => rows[at]!);
    this.seen = places.map((at) => seen[at]!);
    this.index = new Map(this.rows.map((row, at) => [row.task, at]));
  }
}
