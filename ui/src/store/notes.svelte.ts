// Short messages about what was just done or refused. They stay long enough to be read; refusals stay until they are closed.

import { ApiError } from '../api/client';

export interface Note {
  id: number;
  tone: 'good' | 'bad';
  text: string;
  hint: string | null;
}

const STAYS = 6_000;

class Notes {
  list: Note[] = $state.raw([]);
  private next = 1;

  say(text: string): void {
    const id = this.add({ tone: 'good', text, hint: null });
    setTimeout(() => this.close(id), STAYS);
  }

  fail(what: string, cause: unknown): void {
    const refused = cause instanceof ApiError ? cause : null;
    this.add({ tone: 'bad', text: `${what}: ${refused?.message ?? String(cause)}`, hint: refused?.hint ?? null });
  }

  close(id: number): void {
    this.list = this.list.filter((note) => note.id !== id);
  }

  private add(note: Omit<Note, 'id'>): number {
    const id = this.next++;
    this.list = [...this.list.slice(-3), { ...note, id }];
    return id;
  }
}

export const notes = new Notes();
