// Which runs the menu of the top line offers: those that go on or ask, then the newest.

import type { RunRow } from '../api/types';

const MOST = 10;

export function latest(runs: RunRow[]): RunRow[] {
  const rank = (run: RunRow) => (run.asks ? 0 : run.live ? 1 : 2);
  return [...runs].sort((a, b) => rank(a) - rank(b) || b.started - a.started).slice(0, MOST);
}
