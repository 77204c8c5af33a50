// Measures how long the main thread is held up, from a trace of Chromium: node dev/measure.mjs BASE
//
// Two cases: 10 000 tasks that are live (the graph, the table and the list of runs, while some forty rows change twenty times a second),
// and the timeline of a run of 100 000 events while it is scrolled and zoomed. `scripts/page-load` does the same over a real
// server.

import { open } from './browser.mjs';
import { inWords, scroll, traced, wait, zoom } from './trace.mjs';

const [base = 'http://127.0.0.1:4790'] = process.argv.slice(2);
const LIVE = '/runs/01K9TENTHOUSAND';
const LARGE = '/runs/01K9HUNDREDK/timeline';

const CASES = [
  ['10 000 tasks live, graph', `${LIVE}/graph`, wait],
  ['10 000 tasks live, table', `${LIVE}/table`, scroll],
  ['10 000 tasks live, table by slowest', `${LIVE}/table?sort=slowest`, wait],
  ['10 000 tasks live, list of runs', '/runs', wait],
  ['100 000 events, timeline, opened', LARGE, wait, true],
  ['100 000 events, timeline, scrolled', LARGE, scroll],
  ['100 000 events, timeline, zoomed', LARGE, zoom],
];

const { context, page } = await open();
await page.goto(`${base}/#token=fixture`);
for (const [name, path, act, fromStart] of CASES) {
  if (!fromStart) {
    await page.goto(base + path);
    await page.waitForTimeout(4_000);
  }
  const figures = await traced(context, page, async () => {
    if (fromStart) await page.goto(base + path);
    await act(page);
  });
  console.log(`${name}: ${inWords(figures)}`);
}
await context.close();
