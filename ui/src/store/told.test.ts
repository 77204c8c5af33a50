import { expect, test } from 'vitest';
import { told } from './told';

const events = [
  { seq: 1, at: 10, event: { phase_decided: { task: 'build', chosen: 'start', reason: 'design ended well', from: ['design'] } } },
  { seq: 2, at: 20, event: { state_changed: { task: 'build', flags: { built: true } } } },
  { seq: 3, at: 30, event: { announced: { task: 'build', attempt: 1, kind: 'feature.built', payload: { inline: 1 } } } },
  { seq: 4, at: 40, event: { merge_started: { task: 'build', strategy: 'hierarchical', sources: ['a', 'b'], missing: [{ task: 'c', why: 'failed' }] } } },
  { seq: 5, at: 50, event: { outputs_missed: { task: 'build', missing: [{ task: 'b' }] } } },
  { seq: 6, at: 60, event: { goal_decided: { task: 'goal', chosen: 'add_tasks', reason: 'why', about: 'goal/1', role: 'plan' } } },
  { seq: 7, at: 70, event: { something_new: {} } },
];

test('a phase, a merge and a goal are told from their events', () => {
  const all = told(events, null);
  expect(all.why).toBe('design ended well');
  expect(all.from).toEqual(['design']);
  expect(all.flags).toEqual({ built: true });
  expect(all.announced.map(({ kind }) => kind)).toEqual(['feature.built']);
  expect(all.strategy).toBe('hierarchical');
  expect(all.sources).toEqual([{ task: 'a', missing: false }, { task: 'b', missing: true }, { task: 'c', missing: true }]);
  expect(all.decisions.at(-1)).toEqual({ chosen: 'add_tasks', reason: 'why', at: 60, about: 'goal/1', role: 'plan' });
});

test('nothing is told of what came later than the moment that is shown', () => {
  expect(told(events, 2).announced).toEqual([]);
  expect(told(events, 2).flags).toEqual({ built: true });
});
