import { expect, test } from 'vitest';
import { inputValue } from './inputs';

test('an input takes its kind and refuses others with a reason', () => {
  const of = (kind: string, text: string) => inputValue('n', kind, text);
  expect(of('number', '2.5')).toEqual({ value: 2.5 });
  expect(of('integer', '2.5')).toEqual({ refused: 'n is a whole number' });
  expect(of('number', '')).toEqual({ refused: 'n is a number' });
  expect(of('boolean', 'true')).toEqual({ value: true });
  expect(of('array', '[1]')).toEqual({ value: [1] });
  expect(of('object', '{')).toEqual({ refused: 'n is JSON' });
  expect(of('string', '007')).toEqual({ value: '007' });
});
