// Runs axe on every page over the fixture server, light and dark, wide and 390 pixels wide: node dev/axe.mjs BASE
// Fails on anything serious or critical, on an error of a page, and on what the Content-Security-Policy refused.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { open } from './browser.mjs';

const [base = 'http://127.0.0.1:4790'] = process.argv.slice(2);
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const REVIEW = '/runs/01K9FIRSTREVIEW';
const PAGES = [
  '/runs', '/runs?status=failed', `${REVIEW}/graph`, `${REVIEW}/graph?task=review%5Bapi-0.rs%5D&turned=review`, `${REVIEW}/graph?node=review`, `${REVIEW}/graph?ask=1`, `${REVIEW}/timeline`, `${REVIEW}/table?state=running`, `${REVIEW}/story`,
  `${REVIEW}/radar`, `${REVIEW}/search?q=json`, '/runs/01K9GOALTREE/goals?task=goal', '/runs/01K9PIPELINE/pipeline?task=build', '/runs/01K9MERGE/merges?task=merge', '/runs/01K9FAILED/graph?task=check',
  `${REVIEW}/graph?at=300`, '/inbox', '/capacity', '/compare?a=01K9FAILED&b=01K9OTHERREV', '/start?file=%2Fhome%2Fana%2Fwork%2Ffirst-review.yaml', '/runs/NOSUCHRUN/graph', '/nowhere',
];

export async function examine(page) {
  // The script runs in a world of its own: the page's policy does not hold there, and the page is not changed.
  const results = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ['violations'] })`);
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.any?.[0]?.message ?? ''}`).join(' | ')}`);
}

async function all() {
  let failed = 0;
  for (const options of [{}, { dark: true }, { width: 390, height: 844, touch: true }]) {
    const { context, page } = await open(options);
    await page.goto(`${base}/#token=fixture`);
    for (const path of PAGES) {
      await page.goto(base + path);
      await page.waitForTimeout(900);
      const found = await examine(page);
      const trouble = page.trouble.splice(0).filter((text) => !text.includes('404'));
      const wide = await page.evaluate('document.documentElement.scrollWidth > innerWidth + 1');
      if (wide) trouble.push('the page scrolls sideways');
      for (const text of [...found, ...trouble]) console.log(JSON.stringify(options), path, text);
      failed += found.length + trouble.length;
    }
    await context.close();
  }
  console.log(failed ? `${failed} findings` : `nothing serious on ${PAGES.length} addresses, light, dark and 390 pixels wide`);
  process.exitCode = failed ? 1 : 0;
}

if (process.argv[1] === new URL(import.meta.url).pathname) await all();
