import { expect, test } from 'vitest';
import { amount, money, parseMoney, size } from './money';
import { count, countsText, SHAPES, STATES, stateOfRun, WORDS } from './state';
import { about, age, coarse, clockWithin, length } from './time';

test('lengths of time are short and never negative', () => {
  expect([-5, 0, 40, 999, 1_000, 9_940, 14_000, 200_000, 7_500_000, 86_400_000 * 3].map(length)).toEqual(
    ['0 ms', '0 ms', '40 ms', '999 ms', '1.0 s', '9.9 s', '14 s', '3 m 20 s', '2 h 5 m', '3 d'],
  );
  expect([500, 1_211_000, 90_000_000].map(coarse)).toEqual(['0 s', '20 m', '25 h']);
  expect(length(null)).toBe('–');
  expect([0, 900, 59_999, 60_000].map(age)).toEqual(['0 s', '0 s', '59 s', '1 m']);
});

test('moments that lie close together are told apart', () => {
  const noon = new Date(2026, 10, 19, 12, 0, 0, 250).getTime();
  const told = [5_000_000, 500_000, 10_000, 1_000].map((apart) => clockWithin(noon * 1_000, apart, noon));
  expect(told).toEqual(['12:00:00', '12:00:00.2', '12:00:00.25', '12:00:00.250']);
  expect(clockWithin(noon * 1_000, 1_000, noon + 3 * 86_400_000)).toBe('19 Nov 12:00');
});

test('a projected end is rounded up', () => {
  expect([1, 12_000, 61_000, 3_700_000].map(about)).toEqual(['5 s', '15 s', '2 m', '1 h 10 m']);
});

test('an unknown cost is never shown as zero', () => {
  expect(money(null)).toBe('unknown');
  expect(money(0)).toBe('$0.00');
  expect([1, 1_200, 4_120_000, 12_345_678_900].map(money)).toEqual(['$0.0000', '$0.0012', '$4.12', '$12\u202f346']);
});

test('money that a person types is read or refused', () => {
  expect(['5', '$2.50', ' 0.1 ', 'five', '', '-1', '1e9'].map(parseMoney)).toEqual([5e6, 2.5e6, 1e5, null, null, null, null]);
});

test('amounts keep two or three figures', () => {
  expect([7, 999, 1_000, 12_345, 999_600, 4_100_000].map(amount)).toEqual(['7', '999', '1 k', '12 k', '1 M', '4.1 M']);
  expect([10, 3_200, 5_000_000].map(size)).toEqual(['10 B', '3.2 kB', '5 MB']);
  expect([7, 1_000, 10_000, 1_234_567].map(count)).toEqual(['7', '1\u202f000', '10\u202f000', '1\u202f234\u202f567']);
});

test('every state has a word and a shape', () => {
  for (const state of STATES) {
    expect(WORDS[state]).toBeTruthy();
    expect(SHAPES[state].fill ?? SHAPES[state].line).toBeTruthy();
  }
  expect(new Set(STATES.map((state) => JSON.stringify(SHAPES[state]))).size).toBe(STATES.length);
});

test('counts name the most pressing first and leave zeros out', () => {
  expect(countsText({ done: 3, running: 2, failed: 1, waiting: 0 })).toBe('1 failed, 2 running, 3 done');
  expect(countsText({ done: 3, asks: 1 }, ['done'])).toBe('1 asking');
});

test('a run that says it runs but that no process drives is interrupted', () => {
  expect(stateOfRun('running', true)).toBe('running');
  expect(stateOfRun('running', false)).toBe('interrupted');
});
