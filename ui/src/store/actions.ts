// What a person can do to a run. Each says how it went; none changes what is shown: the server's events do.

import { post, segment } from '../api/client';
import { notes } from './notes.svelte';

const at = (run: string) => `/runs/${segment(run)}`;

async function act<T>(what: string, done: string, call: () => Promise<T>): Promise<T | null> {
  try {
    const answer = await call();
    notes.say(done);
    return answer;
  } catch (cause) {
    notes.fail(what, cause);
    return null;
  }
}

export const stop = (run: string, now: boolean) =>
  act('the run was not stopped', now ? 'Stopping now: running tasks are cancelled.' : 'Stopping: running tasks finish first.', () =>
    post(`${at(run)}/stop`, { now }),
  );

export const resume = (run: string, budget: number | null) =>
  act('the run was not resumed', 'The run goes on.', () =>
    post<{ run: string }>(`${at(run)}/resume`, budget === null ? {} : { budget: budget / 1_000_000 }),
  );

export const retry = (run: string, task: string) =>
  act('the task was not retried', 'The run goes on; what failed gets another attempt.', () => post(`${at(run)}/retry`, { task }));

export const guide = (run: string, text: string) =>
  act('the guidance was not sent', 'Guidance sent. The next prompts contain it.', () =>
    post(`${at(run)}/guide`, { text }),
  );
