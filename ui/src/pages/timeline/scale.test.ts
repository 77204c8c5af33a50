import { expect, test } from 'vitest';
import { inOrder, Scale } from './scale';

const HOUR = 3_600_000_000;
const scales = [
  new Scale(0, HOUR, 800),
  new Scale(0, 10 * HOUR, 800, [[HOUR, 9 * HOUR]]),
  new Scale(2 * HOUR, 10 * HOUR, 800, [[HOUR, 3 * HOUR], [2.5 * HOUR, 5 * HOUR], [7 * HOUR, 9 * HOUR]]),
  new Scale(0, HOUR, 60, [[0, HOUR / 2]]),
];

test('places go up with time, stay inside, and lead back to the moment', () => {
  for (const scale of scales) {
    let last = -1;
    for (let at = 0; at <= 200; at++) {
      const time = scale.from + ((scale.to - scale.from) * at) / 200;
      const x = scale.x(time);
      expect(x).toBeGreaterThanOrEqual(last);
      expect(x).toBeLessThanOrEqual(scale.width + 0.001);
      const piece = scale.pieces.find((one) => x <= one.x + one.width)!;
      expect(Math.abs(scale.time(x) - time)).toBeLessThanOrEqual(((piece.to - piece.from) / piece.width) * 0.01 + 1);
      last = x;
    }
    expect(scale.x(scale.to)).toBeCloseTo(scale.width, 3);
  }
});

test('an idle stretch takes little room and what is busy gets the rest', () => {
  const scale = scales[1]!;
  expect(scale.x(9 * HOUR) - scale.x(HOUR)).toBeCloseTo(34);
  expect(scale.x(HOUR)).toBeCloseTo((800 - 34) / 2);
});

test('idle stretches that overlap are one', () => expect(scales[2]!.pieces.filter(({ idle }) => idle).length).toBe(2));

test('ticks are round and apart', () => {
  for (const scale of scales) {
    const places = scale.ticks().map((tick) => scale.x(tick));
    places.slice(1).forEach((x, at) => expect(x - places[at]!).toBeGreaterThanOrEqual(75));
  }
  expect(scales[0]!.ticks().every((tick) => tick % 60_000_000 === 0)).toBe(true);
});

test('a range of nothing is drawn all the same', () => {
  const scale = new Scale(5, 5, 100);
  expect(Number.isFinite(scale.x(5))).toBe(true);
  expect(Number.isFinite(scale.time(50))).toBe(true);
});

test('rows stand in the order in which they began to wait, and those to come at the end', () => {
  expect(inOrder([0, 50_000, 20_000, 20_000, 0], [0, 40, 0, 0, 5])).toEqual([1, 2, 3, 0, 4]);
  expect(inOrder([1, 2, 2, 3], [])).toEqual([0, 1, 2, 3]);
});
