import { expect, test } from 'vitest';
import { answerText, oneLine, unwrap } from './payload';

test('a payload is its value; a cut one is its beginning and an address', () => {
  expect(unwrap({ text: '{"a":1}', json: true, bytes: 7, cut: false })).toEqual({ value: { a: 1 }, address: null, bytes: 7 });
  expect(unwrap({ text: '{"a":', json: true, bytes: 9_000, cut: true, value: 'b3:x' })).toEqual({ value: '{"a":', address: 'b3:x', bytes: 9_000 });
  expect(unwrap({ text: 'words', json: false, bytes: 5, cut: false }).value).toBe('words');
});

test('a value that is no payload is itself', () => {
  for (const value of ['x', 1, null, [1], { text: 'no payload' }]) expect(unwrap(value).value).toEqual(value);
});

test('one line is one line, and short', () => {
  expect(oneLine({ text: 'a\n  b', json: false, bytes: 5, cut: false })).toBe('a b');
  expect(oneLine('x'.repeat(500), 10)).toBe('xxxxxxxxx…');
});

test('an agent without a schema answers with a text, and everything else is data', () => {
  expect(answerText('a')).toBe('a');
  expect(answerText({ result: 'a' })).toBe('a');
  for (const data of [{ result: 1 }, { result: 'a', more: 1 }, { other: 'a' }, ['a'], null, 5, {}]) expect(answerText(data)).toBe(null);
});
