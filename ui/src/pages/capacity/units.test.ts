import { expect, test } from 'vitest';
import { parsed, shown, typed } from './units';

test('money of a limit is shown and typed in dollars, and everything else as a number', () => {
  const usd = { unit: 'usd_micros' };
  expect(shown(usd, 2_500_000)).toBe('$2.50');
  expect(parsed(usd, typed(usd, 2_500_000))).toBe(2_500_000);
  expect(parsed(usd, '$3')).toBe(3_000_000);
  expect(shown({ unit: 'tokens' }, 12_300)).toBe('12 k');
  expect(shown({}, 60)).toBe('60');
  expect(parsed({ unit: 'count' }, typed({}, 60))).toBe(60);
  for (const wrong of ['', 'many', '-1', '1.5']) expect(parsed({ unit: 'count' }, wrong)).toBe(null);
});
