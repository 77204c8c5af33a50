// Screenshots of the pages over the fixture server, to be looked at: node dev/shots.mjs BASE FOLDER [only these names …]

import { mkdirSync } from 'node:fs';
import { open } from './browser.mjs';

const [base = 'http://127.0.0.1:4790', folder = 'shots', ...only] = process.argv.slice(2);
const REVIEW = '/runs/01K9FIRSTREVIEW';
const SHOTS = [
  ['runs', '/runs'],
  ['runs-dark', '/runs', { dark: true }],
  ['runs-phone', '/runs', { width: 390, height: 844, touch: true }],
  ['graph', `${REVIEW}/graph`],
  ['graph-open', `${REVIEW}/graph?turned=review&task=review%5Bapi-0.rs%5D`],
  ['graph-dark', `${REVIEW}/graph?task=review%5Bauth-193.rs%5D`, { dark: true }],
  ['graph-phone', `${REVIEW}/graph`, { width: 390, height: 844, touch: true }],
  ['table', `${REVIEW}/table`],
  ['table-phone', `${REVIEW}/table`, { width: 390, height: 844, touch: true }],
  ['task-phone', `${REVIEW}/table?task=review%5Bapi-0.rs%5D`, { width: 390, height: 844, touch: true }],
  ['timeline', '/runs/01K9HUNDREDK/timeline'],
  ['timeline-dark', '/runs/01K9MERGE/timeline', { dark: true }],
  ['story', `${REVIEW}/story`],
  ['failed', '/runs/01K9FAILED/graph?task=check'],
  ['ten-thousand', '/runs/01K9TENTHOUSAND/graph?node=review'],
  ['too-large', '/runs/01K9HUNDREDK/table'],
  ['goal', '/runs/01K9GOALTREE/goals?task=goal'],
  ['pipeline', '/runs/01K9PIPELINE/pipeline?task=build'],
  ['pipeline-graph', '/runs/01K9PIPELINE/graph'],
  ['merges', '/runs/01K9MERGE/merges?task=merge'],
  ['radar', `${REVIEW}/radar`],
  ['search', `${REVIEW}/search?q=json`],
  ['asked', `${REVIEW}/graph?ask=1`],
  ['inbox', '/inbox'],
  ['inbox-dark', '/inbox', { dark: true }],
  ['inbox-phone', '/inbox', { width: 390, height: 844, touch: true }],
  ['capacity', '/capacity'],
  ['compare', '/compare?a=01K9FAILED&b=01K9OTHERREV'],
  ['start', '/start?file=%2Fhome%2Fana%2Fwork%2Ffirst-review.yaml'],
  ['past', `${REVIEW}/graph?at=300`],
  ['missing', '/runs/NOSUCHRUN/graph'],
];
const size = ({ width = 1280, height = 800, dark = false, touch = false } = {}) => JSON.stringify({ width, height, dark, touch });

mkdirSync(folder, { recursive: true });
const wanted = SHOTS.filter(([name]) => !only.length || only.includes(name));
for (const kind of new Set(wanted.map(([, , options]) => size(options)))) {
  const { context, page } = await open(JSON.parse(kind));
  await page.goto(`${base}/#token=fixture`);
  for (const [name, path, options] of wanted) {
    if (size(options) !== kind) continue;
    await page.goto(base + path);
    await page.waitForTimeout(1_600);
    await page.screenshot({ path: `${folder}/${name}.png` });
    if (page.trouble.length) console.log(name, page.trouble.splice(0));
  }
  await context.close();
}
