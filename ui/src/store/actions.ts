// What a person can do to a run. Each says how it went; none changes what is shown: the server's events do.

import { ApiError, post, segment } from '../api/client';
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

/** Does a task again. What it would repeat is answered instead, where only a word is missing: nothing was done then. */
export async function retry(run: string, task: string, repeat_effects: boolean): Promise<string | null> {
  const call = () => post(`${at(run)}/retry`, { task, repeat_effects });
  try {
    await call();
    notes.say('The task is done again, with what followed from it.');
  } catch (cause) {
    if (!repeat_effects && cause instanceof ApiError && cause.hint?.includes('--repeat-effects')) return cause.message;
    notes.fail('the task was not retried', cause);
  }
  return null;
}

/** Says something to the agent of a task, or to all goals of a run. */
export const guide = (run: string, task: string | null, text: string) =>
  act('the guidance was not sent', task ? 'Guidance sent. The next turn of its agent has it.' : 'Guidance sent. The next prompts contain it.', () =>
    post(`${at(run)}/guide`, task ? { text, task } : { text }),
  );
