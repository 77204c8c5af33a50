// The pictures of docs/how-to/read-the-dashboard.md, over a stand-in server that has just started: node dev/pictures.mjs BASE FOLDER

import { open } from './browser.mjs';

const [base = 'http://127.0.0.1:4790', folder = '../docs'] = process.argv.slice(2);
const PICTURES = [
  ['dashboard-runs', '/runs', { height: 520 }],
  ['dashboard-inbox', '/inbox', {}],
  ['dashboard-graph', '/runs/01K9FIRSTREVIEW/graph?task=review%5Bapi-0.rs%5D', { dark: true }],
  ['dashboard-timeline', '/runs/01K9MERGE/timeline?critical=1', {}],
];
for (const [name, path, options] of PICTURES) {
  const { context, page } = await open({ width: 1200, height: 640, ...options });
  await page.goto(`${base}/#token=fixture`);
  await page.goto(base + path);
  await page.waitForTimeout(2_500);
  await page.screenshot({ path: `${folder}/${name}.png` });
  await context.close();
}
