import { expect, test } from 'vitest';
import type { Question } from '../../api/types';
import { formAnswer, optionAnswer, textOf } from './answering';

test('a form sends what was filled in, and refuses to leave out what is required', () => {
  const fields = [{ id: 'name', required: true, text: 'Your name' }, { id: 'note' }];
  expect(formAnswer(fields, { name: 'ana=b', note: '' })).toEqual({ values: ['name=ana=b'] });
  expect(formAnswer(fields, { name: ' ' })).toEqual({ refused: '“Your name” needs an answer' });
  expect(formAnswer([{ id: 'x', required: true, default: 'y' }], {})).toEqual({ values: [] });
});

test('an option that asks for a text is not sent without it', () => {
  const option = { value: 'revise', label: 'Revise', prompt_for: 'feedback' };
  expect(optionAnswer(option, '')).toEqual({ refused: '“Revise” needs a text: feedback' });
  expect(optionAnswer(option, 'shorter')).toEqual({ values: ['revise'], inputs: { feedback: 'shorter' } });
  expect(optionAnswer({ value: 'ok', label: 'OK' }, 'left over')).toEqual({ values: ['ok'] });
});

test('the text of a card changes with what was shown, and with each question that comes or goes', () => {
  const question = (id: string, shown: string) => ({ run: 'r', id, shown }) as Question;
  const texts = [[question('a~1', 'x')], [question('a~1', 'y')], [question('a~2', 'x')], [question('a~1', 'x'), question('b~1', 'x')]].map(textOf);
  expect(new Set(texts).size).toBe(4);
});
