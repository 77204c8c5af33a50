// Whether the pages stay quick over a real server: node dev/load.mjs CONVOKE [--tasks 10000] [--events 100000] [--p95 50] [--memory 150]
//
// A run of many tasks is driven while its graph, its table and the list of runs are looked at, and its table is scrolled; then the
// timeline of a run of many events is opened, scrolled and zoomed. Ends with 1 where the p95 of the main thread's tasks is above its bound
// in any case, where a page did not follow the run to its end, or where the server took more memory than it may (MB, at most of all time).

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve as absolute } from 'node:path';
import { parseArgs } from 'node:util';
import { open } from './browser.mjs';
import { inWords, scroll, traced, wait, zoom } from './trace.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { tasks: { type: 'string', default: '10000' }, events: { type: 'string', default: '100000' }, p95: { type: 'string', default: '50' }, memory: { type: 'string', default: '150' } },
});
const convoke = absolute(positionals[0]);
const scratch = mkdtempSync(join(tmpdir(), 'page-load-'));
const environment = { ...process.env, HOME: scratch, CONVOKE_STATE_DIR: join(scratch, 'state') };
const children = [];
let bad = 0;

const flow = (name, latency, limit) => `workflow: {name: ${name}, entry_point: each, runtime: {provider: {name: scripted, latency_ms: ${latency}}}}
for_each:
  - {name: each, type: for_each, source: workflow.input.items, as: item, max_concurrent: ${limit}, agent: {name: one, model: m, prompt: '{{ item }}'}}
agents: []
`;

/** Starts a run of so many tasks. Its end is awaited by what is given back. */
function drive(name, tasks, latency, limit) {
  writeFileSync(join(scratch, `${name}.yaml`), flow(name, latency, limit));
  writeFileSync(join(scratch, `${name}.json`), JSON.stringify({ items: Array.from({ length: tasks }, (_, at) => at) }));
  const child = spawn(convoke, ['-s', 'run', `${name}.yaml`, '--input-file', `${name}.json`], { cwd: scratch, env: environment, stdio: 'ignore' });
  children.push(child);
  return new Promise((resolve) => child.on('exit', (code) => resolve(code)));
}

const server = spawn(convoke, ['serve', '--addr', '127.0.0.1:0'], { cwd: scratch, env: environment, stdio: ['ignore', 'pipe', 'ignore'] });
children.push(server);
const link = await new Promise((resolve) => server.stdout.once('data', (text) => resolve(String(text).trim())));
const base = new URL(link).origin;
const { context, page } = await open();
page.setDefaultTimeout(120_000);

async function measured(name, act) {
  const figures = await traced(context, page, act);
  const isBad = figures.p95 > Number(values.p95);
  bad += Number(isBad);
  console.log(`${isBad ? 'MISSED ' : ''}${name}: ${inWords(figures)}`);
}

async function runOf(workflow) {
  await page.goto(`${base}/runs?workflow=${workflow}`);
  const href = await page.getByRole('table', { name: 'Runs' }).getByRole('link', { name: workflow }).first().getAttribute('href');
  return href.split('/')[2];
}

try {
  await page.goto(link);
  await page.getByText('What does it want from me?').waitFor();
  // It lasts for as long as the four cases take, and some more.
  const tasks = Number(values.tasks);
  const ended = drive('live', tasks, Math.ceil(75_000 / (tasks / 100)), 100);
  const live = await runOf('live');
  for (const [name, path, act] of [
    ['live, graph', `/runs/${live}/graph`, wait],
    ['live, table, scrolled', `/runs/${live}/table`, scroll],
    ['live, table, slowest first', `/runs/${live}/table?sort=slowest`, wait],
    ['live, list of runs', '/runs', wait],
  ]) {
    await page.goto(base + path);
    await page.getByText(path === '/runs' ? 'Is it all right?' : /\/.*done$/).first().waitFor();
    await page.waitForTimeout(2_000);
    await measured(`${tasks} tasks ${name}`, act);
  }
  await page.goto(`${base}/runs/${live}/graph`);
  if ((await ended) !== 0) throw new Error('the run did not end well');
  await page.getByText('succeeded', { exact: true }).first().waitFor();

  const large = Math.ceil(Number(values.events) / 2);
  if ((await drive('large', large, 0, 1_000)) !== 0) throw new Error('the large run did not end well');
  const run = await runOf('large');
  const opened = async () => {
    await page.goto(`${base}/runs/${run}/timeline`);
    await page.getByRole('table', { name: 'Timeline of the tasks' }).getByText(/^each\[/).first().waitFor();
  };
  await measured('timeline, opened', opened);
  const count = await page.getByLabel('Position in the run').getAttribute('max');
  console.log(`  the run has ${count} events`);
  if (Number(count) < Number(values.events)) throw new Error(`the run has ${count} events only`);
  await measured(`${count} events, timeline, scrolled`, scroll);
  await measured(`${count} events, timeline, zoomed`, zoom);
} catch (cause) {
  bad++;
  console.log(`FAILED: ${cause.message}`);
}
const memory = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]) / 1_024;
console.log(`server: ${memory('VmRSS').toFixed(0)} MB at the end, ${memory('VmHWM').toFixed(0)} MB at most`);
bad += Number(memory('VmHWM') > Number(values.memory));
await context.close();
for (const child of children) child.kill('SIGKILL');
rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
process.exit(bad ? 1 : 0);
