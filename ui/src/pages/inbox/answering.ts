// What an answer is, and when a card may take one. Pure but for the calls at its end.

import { ApiError, post, segment } from '../../api/client';
import type { Answer, Field, Option, Question } from '../../api/types';

/** For so long after the text of a card changed, its buttons do nothing: nobody answers what they have not read. */
export const GRACE = 500;

/** What the text under the buttons is: when it changes, the card waits a moment. */
export const textOf = (group: Question[]): string => group.map((one) => `${one.run} ${one.id} ${one.shown}`).join('\n');

/** The value of a choice, and how it reads. */
export const choiceOf = (choice: string | { value: string; label?: string }) =>
  typeof choice === 'string' ? { value: choice, label: choice } : { value: choice.value, label: choice.label ?? choice.value };

/** The answer to a form: `id=text` for each field that was filled in. Says which one must be and is not. */
export function formAnswer(fields: Field[], texts: Record<string, string>): Answer | { refused: string } {
  const values: string[] = [];
  for (const field of fields) {
    const text = texts[field.id] ?? '';
    if (text.trim()) values.push(`${field.id}=${text}`);
    else if (field.required && !field.default) return { refused: `“${field.text ?? field.id}” needs an answer` };
  }
  return { values };
}

/** The answer that an option stands for, with the text that it asks for. */
export function optionAnswer(option: Option, text: string): Answer | { refused: string } {
  if (!option.prompt_for) return { values: [option.value] };
  if (!text.trim()) return { refused: `“${option.label}” needs a text: ${option.prompt_for}` };
  return { values: [option.value], inputs: { [option.prompt_for]: text } };
}

export interface Outcome {
  question: Question;
  /** Null where it was taken. */
  refused: ApiError | null;
}

interface Result {
  run: string;
  question: string;
  ok: boolean;
  code?: string | null;
  message?: string | null;
}

/** Sends one answer to each question, with the hash of what was shown. Says of each whether it was taken. */
export async function send(questions: Question[], answer: Answer): Promise<Outcome[]> {
  if (questions.length === 1) return [await sendOne(questions[0]!, answer)];
  const answers = questions.map(({ run, id, shown }) => ({ run, question: id, shown, answer }));
  const { results } = await post<{ results: Result[] }>('/answers', { answers });
  return questions.map((question, at) => {
    const result = results.find((one) => one.run === question.run && one.question === question.id) ?? results[at];
    if (result?.ok) return { question, refused: null };
    return { question, refused: new ApiError(409, result?.code ?? 'refused', result?.message ?? 'it was refused') };
  });
}

async function sendOne(question: Question, answer: Answer): Promise<Outcome> {
  try {
    await post(`/runs/${segment(question.run)}/answer`, { question: question.id, shown: question.shown, answer });
    return { question, refused: null };
  } catch (cause) {
    if (cause instanceof ApiError && cause.status === 409) return { question, refused: cause };
    throw cause;
  }
}
