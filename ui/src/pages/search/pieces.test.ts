import { expect, test } from 'vitest';
import { pieces } from './pieces';

test('pieces are the text again, with the words marked', () => {
  for (const [text, q] of [['Rate limit, rate LIMIT', 'limit'], ['aaa', 'a'], ['', 'x'], ['none', 'q'], ['İstanbul limit', 'limit'], ['x', '']] as const) {
    const found = pieces(text, q);
    expect(found.map((piece) => piece.text).join('')).toBe(text);
    for (const piece of found) if (piece.hit) expect(piece.text.toLowerCase()).toBe(q);
  }
  expect(pieces('Rate limit, rate LIMIT', 'limit').filter(({ hit }) => hit).length).toBe(2);
});
