// All questions of all runs that wait for a person, the oldest first, alike ones together.

import { ApiError, get } from '../api/client';
import { recorded } from '../api/recorded';
import { stream } from '../api/stream';
import type { Question } from '../api/types';

export const keyOf = (question: Pick<Question, 'run' | 'id'>) => `${question.run} ${question.id}`;

class Inbox {
  questions: Question[] = $state.raw([]);
  state: 'loading' | 'ready' | 'failed' = $state('loading');
  error: ApiError | null = $state.raw(null);
  /** Questions that go to one card: by what they ask for, in the order of their oldest. */
  groups: Question[][] = $derived(grouped(this.questions));

  start(): void {
    if (recorded) return this.replace(recorded.questions);
    void this.read();
    stream.follow('inbox', (type, data) => {
      if (type === 'snapshot') this.replace(data.questions ?? []);
      else this.apply(data.questions ?? [], data.gone ?? []);
    });
  }

  /** An answer was given here: the card goes at once, the server's word follows. */
  remove(keys: string[]): void {
    this.replace(this.questions.filter((question) => !keys.includes(keyOf(question))));
  }

  async read(): Promise<void> {
    try {
      this.replace((await get<{ questions: Question[] }>('/inbox')).questions);
    } catch (cause) {
      this.error = cause as ApiError;
      if (this.state === 'loading') this.state = 'failed';
    }
  }

  private replace(questions: Question[]): void {
    this.questions = [...questions].sort((a, b) => a.opened - b.opened);
    this.state = 'ready';
    this.error = null;
  }

  // What is gone is named `RUN/TASK~N`.
  private apply(changed: Question[], gone: string[]): void {
    const byKey = new Map(this.questions.map((question) => [keyOf(question), question]));
    for (const name of gone) byKey.delete(name.replace('/', ' '));
    for (const question of changed) byKey.set(keyOf(question), question);
    this.replace([...byKey.values()]);
  }
}

/** Alike questions as one group each. A question without a key is alone. */
export function grouped(questions: Question[]): Question[][] {
  const groups = new Map<string, Question[]>();
  for (const question of questions) {
    const key = question.group_key || keyOf(question);
    const group = groups.get(key);
    if (group) group.push(question);
    else groups.set(key, [question]);
  }
  return [...groups.values()];
}

export const inbox = new Inbox();
