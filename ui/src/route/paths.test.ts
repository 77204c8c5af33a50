import { expect, test } from 'vitest';
import { read, RUN_VIEWS, runPath } from './paths';

test('every view of a run has an address that leads back to it', () => {
  for (const view of RUN_VIEWS) {
    for (const run of ['01JABC', 'a b', 'x/y', 'ü#?']) {
      const path = runPath(run, view, { task: 'review[api.rs]' });
      expect(read(path.split('?')[0]!)).toEqual({ page: 'run', run, view });
      expect(new URL(path, 'http://x').searchParams.get('task')).toBe('review[api.rs]');
    }
  }
});

test('an address that means nothing says so', () => {
  expect(read('/runs/r/nonsense').page).toBe('unknown');
  expect(read('/nowhere').page).toBe('unknown');
  expect(read('/%E0%A4%A').page).toBe('unknown');
});
