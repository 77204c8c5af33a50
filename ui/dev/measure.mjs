// Measures how long the main thread is held up, from a trace of Chromium: node dev/measure.mjs BASE
//
// Two cases: 10 000 tasks that are live (the graph, the table and the list of runs, while some forty rows change twenty times a second),
// and the timeline of a run of 100 000 events while it is scrolled and zoomed. A task of the main thread is a `RunTask` event of the
// renderer that shows the page. Tasks under 1 ms are left out, so that idle ticks do not flatter the percentile.

import { open } from './browser.mjs';

const [base = 'http://127.0.0.1:4790'] = process.argv.slice(2);
const LIVE = '/runs/01K9TENTHOUSAND';
const LARGE = '/runs/01K9HUNDREDK/timeline';
const WATCHED = 8_000;

const CASES = [
  ['10 000 tasks live, graph', `${LIVE}/graph`, wait],
  ['10 000 tasks live, table', `${LIVE}/table`, scroll],
  ['10 000 tasks live, table by slowest', `${LIVE}/table?sort=slowest`, wait],
  ['10 000 tasks live, list of runs', '/runs', wait],
  ['100 000 events, timeline, opened', LARGE, wait, true],
  ['100 000 events, timeline, scrolled', LARGE, scroll],
  ['100 000 events, timeline, zoomed', LARGE, zoom],
];

async function wait(page) {
  await page.waitForTimeout(WATCHED);
}

async function scroll(page) {
  await page.mouse.move(500, 500);
  for (let at = 0; at < WATCHED / 80; at++) {
    await page.mouse.wheel(0, at % 40 < 30 ? 2_400 : -6_000);
    await page.waitForTimeout(60);
  }
}

async function zoom(page) {
  await page.mouse.move(800, 500);
  await page.keyboard.down('Control');
  for (let at = 0; at < WATCHED / 100; at++) {
    await page.mouse.wheel(0, at % 30 < 15 ? -120 : 120);
    await page.waitForTimeout(60);
  }
  await page.keyboard.up('Control');
}

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const { context, page } = await open();
await page.goto(`${base}/#token=fixture`);
for (const [name, path, act, fromStart] of CASES) {
  const trace = await context.newCDPSession(page);
  if (!fromStart) {
    await page.goto(base + path);
    await page.waitForTimeout(4_000);
  }
  const events = [];
  trace.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await trace.send('Tracing.start', { traceConfig: { includedCategories: ['toplevel', 'disabled-by-default-devtools.timeline', 'devtools.timeline', '__metadata'] }, transferMode: 'ReportEvents' });
  if (fromStart) await page.goto(base + path);
  await act(page);
  const ended = new Promise((resolve) => trace.once('Tracing.tracingComplete', resolve));
  await trace.send('Tracing.end');
  await ended;
  const mains = new Set(events.filter((one) => one.name === 'thread_name' && one.args.name === 'CrRendererMain').map((one) => `${one.pid} ${one.tid}`));
  const tasks = events.filter((one) => /RunTask$/.test(one.name) && one.dur && mains.has(`${one.pid} ${one.tid}`)).map((one) => [one.dur / 1_000, (one.tdur ?? 0) / 1_000]);
  const real = tasks.map(([ms]) => ms).filter((ms) => ms >= 1).sort((a, b) => a - b);
  const cpu = tasks.map(([, ms]) => ms).filter((ms) => ms >= 1).sort((a, b) => a - b);
  const busy = tasks.reduce((sum, [, ms]) => sum + ms, 0);
  console.log(`${name}: ${real.length} tasks of 1 ms and more, p50 ${at(real, 0.5).toFixed(1)} ms, p95 ${at(real, 0.95).toFixed(1)} ms, longest ${at(real, 1).toFixed(1)} ms; by its own CPU p95 ${at(cpu, 0.95).toFixed(1)} ms, longest ${at(cpu, 1).toFixed(1)} ms, ${busy.toFixed(0)} ms in all`);
  await trace.detach();
}
await context.close();
