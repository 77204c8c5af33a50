// The dashboard against a real `convoke serve`, in a real Chromium, with the scripted provider: node dev/end-to-end.mjs CONVOKE [SHOTS]
//
// A test waits for what it wants to see, never for a time. Each one says what must hold; axe looks at every page on the way.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve as absolute } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { examine } from './axe.mjs';
import { open } from './browser.mjs';
import { service, WORDS } from './service.mjs';

const [convoke, shots = ''] = process.argv.slice(2);
const flows = join(dirname(fileURLToPath(import.meta.url)), 'flows');
const scratch = mkdtempSync(join(tmpdir(), 'dashboard-end-to-end-'));
const environment = { ...process.env, OPENAI_API_KEY: 'sk-end-to-end-tests-0123456789', HOME: scratch, XDG_STATE_HOME: scratch, XDG_CONFIG_HOME: scratch, XDG_CACHE_HOME: scratch };
const state = ['--state-dir', join(scratch, 'state')];
const children = [];
const tests = [];
const test = (name, body) => tests.push([name, body]);
if (shots) mkdirSync(shots, { recursive: true });

// --- what is tried ------------------------------------------------------------------------------------------------------

test('a page without a token asks for one, and a wrong one is refused', async ({ page, base }) => {
  await page.goto(`${base}/runs`);
  await page.getByRole('heading', { name: 'A token is needed' }).waitFor();
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('heading', { name: 'A token is needed' }).waitFor();
  page.trouble.length = 0;
});

test('the link opens the list, and the token leaves the address', async ({ page, link, base }) => {
  await page.goto(link);
  await page.getByText('Is it all right?').waitFor();
  await page.waitForURL((url) => !url.href.includes('token'));
  await page.goto(`${base}/runs`);
  await page.getByText('What does it want from me?').waitFor();
});

test('a run is started from a file, and its tasks turn while it is watched', async ({ page, base, keep }) => {
  await page.goto(`${base}/start`);
  await page.getByLabel('Workflow').selectOption({ label: await page.locator('option', { hasText: 'fleet' }).first().textContent() });
  await page.getByLabel(/^tone/).fill('friendly');
  await page.getByText('What it would do').waitFor();
  await seen(page, 'start');
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.waitForURL(/\/runs\/[^/]+\/graph/);
  keep.fleet = page.url().split('/')[4];
  const done = page.getByText(/^\d+\/\d+ done$/);
  await done.waitFor();
  const before = await done.textContent();
  await done.filter({ hasNotText: before }).waitFor();
  await seen(page, 'graph');
});

test('a task is opened, and its answer is there', async ({ page, base, keep }) => {
  await page.goto(`${base}/runs/${keep.fleet}/table`);
  await page.getByRole('link', { name: /^read\[/ }).first().click();
  const pane = page.getByRole('complementary', { name: 'The chosen task' });
  await pane.getByText('What I read').waitFor();
  await pane.getByRole('button', { name: 'raw' }).click();
  await pane.getByText('## What I read').waitFor();
  await seen(page, 'task');
});

test('an answer is read while it is written, and whole once it is', async ({ page, base, keep }) => {
  const slow = await service();
  writeFileSync(
    join(scratch, 'tale.yaml'),
    `workflow: {name: tale, entry_point: tell, runtime: {provider: {name: openai, base_url: '${slow.url}'}}}\nagents:\n  - {name: tell, model: m, prompt: Tell a tale.}\n`,
  );
  const run = terminal(join(scratch, 'tale.yaml'));
  keep.tale = await started(page, base, 'tale');
  await page.goto(`${base}/runs/${keep.tale}/graph?task=tell`);
  const answer = page.getByLabel('The answer so far');
  await answer.filter({ hasText: `word-${WORDS.length / 2}` }).waitFor();
  await page.getByRole('complementary', { name: 'The chosen task' }).getByText('running').first().waitFor();
  expect(!(await answer.textContent()).includes(WORDS.at(-1)), 'the answer is not whole while it is written');
  await seen(page, 'streaming');
  slow.go();
  await page.getByText(WORDS.at(-1)).waitFor();
  await answer.waitFor({ state: 'detached' });
  expect((await run).code === 0, 'the run ends well');
  slow.close();
});

test('a gate in a group in a sub-workflow of a run that a terminal started is answered', async ({ page, base }) => {
  const run = terminal('nested.yaml');
  await page.goto(`${base}/inbox`);
  const card = page.getByRole('article').filter({ hasText: 'version 2' });
  await card.getByText('go out?').waitFor();
  await seen(page, 'inbox');
  await card.getByRole('button', { name: 'Publish it' }).and(page.locator('[aria-disabled="false"]')).click();
  await card.waitFor({ state: 'detached' });
  const { code, out } = await run;
  expect(code === 0 && out.includes('publish'), `the run in the terminal ended with ${code}: ${out}`);
});

test('a page that does not know yet that a question was answered is told what happened', async ({ page, base }) => {
  const run = terminal('nested.yaml');
  // This page hears no news: its stream stays away.
  await page.route('**/api/v1/stream**', (route) => route.abort());
  await page.goto(`${base}/inbox`);
  const card = page.getByRole('article').filter({ hasText: 'version 2' });
  while (!(await card.count())) {
    await page.reload();
    await page.getByText(/Nothing waits for you|for you/).first().waitFor();
  }
  const name = (await card.getByRole('link').first().getAttribute('href')).split('/')[2];
  execFileSync(convoke, ['answer', name, 'inside/both/approve', 'change', '-i', 'wish=shorter', ...state], { env: environment });
  await card.getByRole('button', { name: 'Publish it' }).and(page.locator('[aria-disabled="false"]')).click();
  await page.getByRole('alert').filter({ hasText: /answered|ended|asks/ }).waitFor();
  await page.unroute('**/api/v1/stream**');
  page.trouble.length = 0;
  expect((await run).out.includes('change'), 'the first answer holds');
});

test('three alike questions are answered at once', async ({ page, base }) => {
  const run = terminal('alike.yaml');
  await page.goto(`${base}/inbox`);
  const card = page.getByRole('article').filter({ hasText: '3 alike' });
  await card.waitFor();
  await seen(page, 'alike');
  await card.getByRole('button', { name: 'Allow all 3' }).and(page.locator('[aria-disabled="false"]')).click();
  await page.getByText('3 questions answered').waitFor();
  expect((await run).code === 0, 'all three were taken');
});

test('a goal is guided, and its tree grows with reasons', async ({ page, base, keep }) => {
  const run = terminal('goal.yaml');
  keep.goal = await started(page, base, 'aim');
  await page.goto(`${base}/runs/${keep.goal}/goals`);
  await page.getByRole('button', { name: 'Guide' }).first().click();
  await page.getByLabel('Guidance', { exact: true }).fill('Count the word is, too.');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Guidance sent').waitFor();
  await page.getByRole('table', { name: 'Goals and their tasks' }).getByRole('row').nth(3).waitFor();
  await seen(page, 'goal');
  expect((await run).code === 0, 'the goal was reached');
  const events = execFileSync(convoke, ['events', keep.goal, '--format', 'json', ...state], { env: environment }).toString();
  expect(events.includes('Count the word is, too.'), 'the guidance is in the journal');
});

test('a run is stopped, and resumed', async ({ page, base, keep }) => {
  void terminal('slow.yaml');
  keep.slow = await started(page, base, 'slow');
  await page.goto(`${base}/runs/${keep.slow}/table`);
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByRole('button', { name: 'Stop them now' }).click();
  await page.getByRole('button', { name: 'Resume', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
  await page.getByText('succeeded', { exact: true }).first().waitFor();
});

test('the slider shows the run as it was, and comes back to its end', async ({ page, base, keep }) => {
  await page.goto(`${base}/runs/${keep.fleet}/graph`);
  await page.getByText('26/26 done').waitFor();
  await page.getByLabel('Position in the run').focus();
  await page.keyboard.press('Home');
  await page.waitForURL(/at=1/);
  await page.getByText(/^0\/\d+ done$/).waitFor();
  await seen(page, 'past');
  await page.getByRole('button', { name: 'end', exact: true }).click();
  await page.getByText('26/26 done').waitFor();
});

test('two runs are compared', async ({ page, base, keep }) => {
  const { out } = await terminal('fleet.yaml', '-i', 'tone=plain');
  keep.other = /\(run ([^)]+)\)/.exec(out)[1];
  await page.goto(`${base}/compare?a=${keep.fleet}&b=${keep.other}`);
  await page.getByText('Where they').first().waitFor();
  await page.getByText('friendly').first().waitFor();
  await seen(page, 'compare');
});

test('capacity, timeline, story, signs of life and search show what they are for', async ({ page, base, keep }) => {
  await page.goto(`${base}/capacity`);
  await page.getByRole('heading', { name: 'Capacity' }).waitFor();
  await seen(page, 'capacity');
  await page.goto(`${base}/runs/${keep.fleet}/timeline`);
  await page.getByRole('table', { name: 'Timeline of the tasks' }).getByText(/^read\[/).first().waitFor();
  await seen(page, 'timeline');
  await page.goto(`${base}/runs/${keep.fleet}/story`);
  await page.getByRole('region', { name: 'Story of the run' }).getByRole('listitem').first().waitFor();
  await seen(page, 'story');
  await page.goto(`${base}/runs/${keep.fleet}/radar`);
  await page.getByText('Nothing runs now').waitFor();
  await page.locator('#search').fill('finding');
  await page.keyboard.press('Enter');
  await page.locator('mark').first().waitFor();
  await seen(page, 'search');
});

test('the menu of the top line leads to another run', async ({ page, base, keep }) => {
  await page.goto(`${base}/runs/${keep.fleet}/story`);
  await page.getByRole('button', { name: 'Latest runs' }).click();
  await page.getByText(/ today$/).waitFor();
  const menu = page.getByRole('region', { name: 'Latest runs' });
  const other = menu.getByRole('link', { name: 'aim' });
  await other.waitFor();
  await seen(page, 'menu');
  await other.click();
  await page.waitForURL(`**/runs/${keep.goal}/**`);
  await menu.waitFor({ state: 'hidden' });
});

test('keys lead to everything', async ({ page, base, keep }) => {
  await page.goto(`${base}/runs`);
  await page.getByRole('link', { name: 'fleet' }).first().waitFor();
  await page.keyboard.press('?');
  const help = page.getByRole('heading', { name: 'Keys and signs' });
  await help.waitFor();
  await page.keyboard.press('Escape');
  // The browser closes a dialog in its own time; keys belong to the dialog until then.
  await help.waitFor({ state: 'detached' });
  for (const [key, address] of [['i', /\/inbox$/], ['c', /\/capacity$/], ['r', /\/runs$/]]) {
    await page.keyboard.press(key);
    await page.waitForURL(address);
  }
  // The page before this one names runs as well; only the list knows these keys.
  await page.getByLabel('Runs', { exact: true }).getByRole('link', { name: 'fleet' }).first().waitFor();
  await page.keyboard.press('j');
  await page.locator('.selected').waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/runs\/.+\/graph/);
  for (const [key, view] of [['t', 'timeline'], ['l', 'table'], ['y', 'story'], ['g', 'graph']]) {
    await page.keyboard.press(key);
    await page.waitForURL(new RegExp(`/${view}`));
  }
  await page.goto(`${base}/runs/${keep.fleet}/table`);
  await page.getByRole('link', { name: /^read\[/ }).first().waitFor();
  await page.keyboard.press('j');
  await page.waitForURL(/task=/);
  await page.keyboard.press('Escape');
  await page.waitForURL((url) => !url.search.includes('task'));
});

test('a page comes back by itself after the server was away', async ({ page, base, keep, server }) => {
  // The token of a link goes with its server; one that was added stays.
  const token = command('serve', 'token', 'add', 'tests', '--role', 'approve').trim();
  await page.goto(`${base}/#token=${token}`);
  await page.getByText('What does it want from me?').waitFor();
  await page.goto(`${base}/runs/${keep.fleet}/graph`);
  await page.getByText('26/26 done').waitFor();
  const again = await server.again();
  await page.getByText('Connection lost.').waitFor();
  await again();
  await page.getByText('Connection lost.').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Story' }).click();
  await page.getByRole('region', { name: 'Story of the run' }).getByRole('listitem').first().waitFor();
  page.trouble.length = 0;
});

test('merges show their levels', async ({ page, base, keep }) => {
  const { code, out } = await terminal('merged.yaml', '-p', 'scripted');
  expect(code === 0, `the manifest ends well: ${out}`);
  keep.merged = /\(run ([^)]+)\)/.exec(out)[1];
  await page.goto(`${base}/runs/${keep.merged}/merges`);
  await page.getByRole('region', { name: 'Merges' }).getByText('sources').first().waitFor();
  await seen(page, 'merges');
});

test('a run as a file opens without a server, shows the same, and asks for nothing', async ({ page, base, keep, server }) => {
  const file = (run) => {
    const path = join(scratch, `${run}.html`);
    if (!existsSync(path)) command('export', run, '--html', path);
    return pathToFileURL(path).href;
  };
  for (const run of [keep.fleet, keep.goal, keep.merged]) file(run);
  await page.goto(`${base}/runs/${keep.fleet}/story`);
  await page.getByRole('region', { name: 'Story of the run' }).getByRole('listitem').first().waitFor();
  const told = await texts(page.getByRole('region', { name: 'Story of the run' }).locator('li p'));
  // This page stays open: reasons come to it one by one.
  await page.goto(`${base}/runs/${keep.goal}/goals`);
  const goals = page.getByRole('table', { name: 'Goals and their tasks' }).getByRole('row');
  await goals.nth(3).waitFor();
  for (const options of [{}, { dark: true }, { width: 390, height: 844, touch: true }]) {
    const kind = options.dark ? '-dark' : options.width ? '-phone' : '';
    const { context, page } = await open(options);
    const asked = [];
    page.on('request', (request) => /^(file|blob|data):/.test(request.url()) || asked.push(request.url()));
    const view = async (run, rest, name) => {
      await page.goto(`${file(run)}#/runs/${run}/${rest}`);
      await page.reload();
      await page.locator('main :is(table, [role=table], [role=group], [role=region], h1)').first().waitFor();
      expect(!(await page.evaluate('document.documentElement.scrollWidth > innerWidth + 1')), `${rest} of the file scrolls sideways`);
      return () => seen(page, `file-${name}${kind}`);
    };
    await page.goto(file(keep.fleet));
    await page.getByText('26/26 done').waitFor();
    await page.getByRole('button', { name: 'done read', exact: true }).waitFor();
    await seen(page, `file-graph${kind}`);
    let look = await view(keep.fleet, 'table?task=read%5B3%5D', 'task');
    await page.getByRole('complementary', { name: 'The chosen task' }).getByText('What I read').waitFor();
    await look();
    look = await view(keep.fleet, 'timeline', 'timeline');
    await page.getByRole('table', { name: 'Timeline of the tasks' }).getByText(/^read\[/).first().waitFor();
    await look();
    look = await view(keep.fleet, 'story', 'story');
    await page.getByRole('region', { name: 'Story of the run' }).getByRole('listitem').first().waitFor();
    await same(page, () => texts(page.locator('main li p')), () => told, 'the file tells the story that the server tells');
    await look();
    look = await view(keep.goal, 'goals', 'goal');
    await page.getByRole('table', { name: 'Goals and their tasks' }).getByRole('row').nth(3).waitFor();
    if (!options.width) await same(page, () => texts(page.getByRole('table').getByRole('row')), () => texts(goals), 'the tree is the one of the server');
    await look();
    look = await view(keep.merged, 'merges', 'merges');
    await page.getByRole('region', { name: 'Merges' }).getByText('sources').first().waitFor();
    await look();
    await view(keep.fleet, 'search?q=finding', 'search');
    await page.locator('mark').first().waitFor();
    await view(keep.fleet, 'graph', 'past');
    await page.getByText('26/26 done').waitFor();
    await page.getByLabel('Position in the run').focus();
    await page.keyboard.press('Home');
    await page.waitForURL(/at=1$/);
    await page.getByText(/^0\/\d+ done$/).waitFor();
    await seen(page, `file-past${kind}`);
    await page.getByRole('button', { name: 'end', exact: true }).click();
    await page.getByText('26/26 done').waitFor();
    expect(!asked.length, `the file asks for ${asked.join(', ')}`);
    expect(!page.trouble.length, page.trouble.join('; '));
    await context.close();
  }
});

test('dark, and 390 pixels wide, nothing is lost', async ({ server, base, keep }) => {
  const { fleet, goal, merged } = keep;
  const paths = [
    '/runs', `/runs/${fleet}/graph?task=report`, `/runs/${fleet}/table`, `/runs/${fleet}/timeline`, `/runs/${fleet}/story`, `/runs/${fleet}/radar`, `/runs/${fleet}/search?q=finding`,
    `/runs/${goal}/goals`, `/runs/${merged}/merges`, `/runs/${fleet}/graph?at=3`, '/inbox', '/capacity', `/compare?a=${fleet}&b=${keep.other}`, '/start', '/nowhere',
  ];
  for (const options of [{ dark: true }, { width: 390, height: 844, touch: true }]) {
    const { context, page } = await open(options);
    await page.goto(server.link);
    await page.getByText(/All ended well|failed|interrupted/).first().waitFor();
    for (const path of paths) {
      await page.goto(base + path);
      await page.locator('main :is(table, [role=table], [role=group], [role=region], h1, .title)').first().waitFor();
      await page.locator('main').filter({ hasNot: page.getByText(/^(Reading|Searching|Comparing|Drawing) /) }).waitFor();
      await seen(page, `${options.dark ? 'dark' : 'phone'}${path.split('?')[0].replaceAll(/[^a-z]+/g, '-')}`);
      expect(!(await page.evaluate('document.documentElement.scrollWidth > innerWidth + 1')), `${path} scrolls sideways`);
    }
    expect(!page.trouble.length, page.trouble.join('; '));
    await context.close();
  }
});

// --- what they need -----------------------------------------------------------------------------------------------------

function expect(holds, otherwise) {
  if (!holds) throw new Error(otherwise);
}

const texts = (found) => found.allTextContents().then((all) => all.map((text) => text.replace(/\s+/g, ' ').trim()));

/** Waits until a page says the same as another one, or as something that is known. */
async function same(page, look, wanted, what) {
  const end = Date.now() + 60_000;
  for (;;) {
    const [found, other] = [JSON.stringify(await look()), JSON.stringify(await wanted())];
    if (found === other) return;
    expect(Date.now() < end, `${what}: ${found} is not ${other}`);
    await page.evaluate('new Promise(requestAnimationFrame)');
  }
}

/** Looks at a page: axe, and a picture if pictures are wanted. */
async function seen(page, name) {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`) });
  const found = await examine(page);
  expect(!found.length, `axe on ${name}: ${found.join('; ')}`);
}

/** Runs a workflow as a person in a terminal would, who types nothing: an input that is closed would be a Ctrl-D. */
function terminal(file, ...more) {
  const words = ['run', absolute(flows, file), ...more, ...state].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qefc', `'${convoke}' ${words}`, '/dev/null'], { env: { ...environment, TERM: 'xterm' }, stdio: 'pipe' });
  children.push(child);
  let out = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (out += piece));
  return new Promise((resolve) => child.on('exit', (code) => resolve({ code, out })));
}

/** Runs a command of the program to its end. */
const command = (...words) => execFileSync(convoke, [...words, ...state], { env: environment, cwd: scratch }).toString();

/** Waits until the list has a live run of a workflow, and gives its name. */
async function started(page, base, workflow) {
  await page.goto(`${base}/runs?workflow=${workflow}`);
  const row = page.getByRole('row').filter({ hasText: 'running' }).getByRole('link', { name: workflow });
  const href = await row.first().getAttribute('href');
  return href.split('/')[2];
}

async function serve(port) {
  const child = spawn(convoke, ['serve', '--addr', `127.0.0.1:${port}`, '--folder', flows, ...state], { env: environment, stdio: ['ignore', 'pipe', 'pipe'], cwd: scratch });
  children.push(child);
  let out = '';
  const link = await new Promise((resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`convoke serve ended with ${code}: ${out}`)));
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece) => {
        out += piece;
        const found = /https?:\/\/127\.0\.0\.1:\d+\/\S*token=[^\s"]+/.exec(out);
        if (found) resolve(found[0]);
      });
    }
  });
  return { child, link };
}

const { child, link } = await serve(0);
const base = new URL(link).origin;
const server = {
  child,
  // A token of a link goes with its server.
  link,
  // Ends the server; what is given back starts it again at the same place.
  async again() {
    server.child.removeAllListeners('exit');
    const ended = new Promise((resolve) => server.child.once('exit', resolve));
    server.child.kill('SIGKILL');
    await ended;
    return async () => {
      ({ child: server.child, link: server.link } = await serve(new URL(base).port));
    };
  },
};
const { context, page } = await open();
const keep = {};
let failed = 0;
for (const [name, body] of tests) {
  const begin = Date.now();
  try {
    await body({ page, base, link, keep, server });
    expect(!page.trouble.length, `the page says: ${page.trouble.join('; ')}`);
    console.log(`ok ${name} (${((Date.now() - begin) / 1_000).toFixed(1)} s)`);
  } catch (cause) {
    failed++;
    console.log(`FAILED ${name}: ${cause.message}\n  at ${page.url()}`);
    await page.screenshot({ path: join(shots || tmpdir(), `failed-${failed}.png`) }).catch(() => {});
    await page.unrouteAll();
    page.trouble.length = 0;
  }
}
await context.close();
for (const one of children) one.kill('SIGKILL');
rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
console.log(`${tests.length - failed} of ${tests.length} hold`);
process.exit(failed ? 1 : 0);
