// How long the main thread of a page is held up, from a trace of Chromium, while something is done to the page.
//
// A task of the main thread is a `RunTask` event of the renderer that shows the page. Tasks under 1 ms are left out, so that idle ticks do
// not flatter the percentile.

/** For how long a page is watched. */
export const WATCHED = 8_000;

export async function wait(page) {
  await page.waitForTimeout(WATCHED);
}

export async function scroll(page) {
  await page.mouse.move(500, 500);
  for (let at = 0; at < WATCHED / 80; at++) {
    await page.mouse.wheel(0, at % 40 < 30 ? 2_400 : -6_000);
    await page.waitForTimeout(60);
  }
}

export async function zoom(page) {
  await page.mouse.move(800, 500);
  await page.keyboard.down('Control');
  for (let at = 0; at < WATCHED / 100; at++) {
    await page.mouse.wheel(0, at % 30 < 15 ? -120 : 120);
    await page.waitForTimeout(60);
  }
  await page.keyboard.up('Control');
}

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const CATEGORIES = ['toplevel', 'disabled-by-default-devtools.timeline', 'devtools.timeline', '__metadata'];

/** Figures of the main thread while `act` is done, in milliseconds: by the clock, and by the CPU that each task itself used. */
export async function traced(context, page, act) {
  const trace = await context.newCDPSession(page);
  const events = [];
  trace.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await trace.send('Tracing.start', { traceConfig: { includedCategories: CATEGORIES }, transferMode: 'ReportEvents' });
  await act(page);
  const ended = new Promise((resolve) => trace.once('Tracing.tracingComplete', resolve));
  await trace.send('Tracing.end');
  await ended;
  await trace.detach();
  const mains = new Set(events.filter((one) => one.name === 'thread_name' && one.args.name === 'CrRendererMain').map((one) => `${one.pid} ${one.tid}`));
  const tasks = events.filter((one) => /RunTask$/.test(one.name) && one.dur && mains.has(`${one.pid} ${one.tid}`)).map((one) => [one.dur / 1_000, (one.tdur ?? 0) / 1_000]);
  const real = tasks.map(([ms]) => ms).filter((ms) => ms >= 1).sort((a, b) => a - b);
  const cpu = tasks.map(([, ms]) => ms).filter((ms) => ms >= 1).sort((a, b) => a - b);
  const busy = tasks.reduce((sum, [, ms]) => sum + ms, 0);
  return { tasks: real.length, p50: at(real, 0.5), p95: at(real, 0.95), longest: at(real, 1), cpu95: at(cpu, 0.95), cpuLongest: at(cpu, 1), busy };
}

/** The figures as a line. */
export const inWords = ({ tasks, p50, p95, longest, cpu95, cpuLongest, busy }) =>
  `${tasks} tasks of 1 ms and more, p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, longest ${longest.toFixed(1)} ms; by its own CPU p95 ${cpu95.toFixed(1)} ms, longest ${cpuLongest.toFixed(1)} ms, ${busy.toFixed(0)} ms in all`;
