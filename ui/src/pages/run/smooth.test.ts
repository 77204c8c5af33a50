import { expect, test } from 'vitest';
import { Smooth } from './smooth';

test('a projection counts down and follows a new one slowly', () => {
  const smooth = new Smooth();
  expect(smooth.next(60_000, 0)).toBe(60_000);
  expect(smooth.next(59_000, 1_000)).toBe(59_000);
  const jumped = smooth.next(120_000, 2_000)!;
  expect(jumped).toBeGreaterThan(58_000);
  expect(jumped).toBeLessThan(70_000);
  let last = jumped;
  for (let second = 3; second < 60; second++) last = smooth.next(120_000 - second * 1_000, second * 1_000)!;
  expect(Math.abs(last - (120_000 - 59_000))).toBeLessThan(3_000);
});

test('it disappears when it is not known and begins anew after', () => {
  const smooth = new Smooth();
  smooth.next(60_000, 0);
  expect(smooth.next(null, 1_000)).toBe(null);
  expect(smooth.next(10_000, 2_000)).toBe(10_000);
});
