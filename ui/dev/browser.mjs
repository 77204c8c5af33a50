// A headless Chromium of the system's packages, and a page of the dashboard in it. What goes wrong on the page is kept in `page.trouble`.

import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

// Browsers write to their profiles for a moment after they were closed.
const profiles = [];
process.on('exit', () => {
  for (const profile of profiles) {
    try {
      rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    } catch (cause) {
      console.log(`${profile} is left: ${cause.message}`);
    }
  }
});

// For work on the page without compiling: PAGE=FOLDER takes it from there, and only the API from the server.
function serveFrom(folder, route) {
  const file = join(folder, new URL(route.request().url()).pathname);
  return route.fulfill({ path: existsSync(file) && statSync(file).isFile() ? file : join(folder, 'index.html') });
}

export async function open({ width = 1280, height = 800, dark = false, touch = false } = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'dashboard-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: FLAGS,
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    hasTouch: touch,
    reducedMotion: 'reduce',
  });
  profiles.push(profile);
  if (process.env.PAGE) await context.route((url) => url.protocol === 'http:' && !url.pathname.startsWith('/api/'), (route) => serveFrom(process.env.PAGE, route));
  const page = context.pages()[0] ?? (await context.newPage());
  // Long, so that no verdict depends on the machine's speed; what holds is seen at once.
  page.setDefaultTimeout(60_000);
  page.trouble = [];
  page.on('pageerror', (error) => page.trouble.push(`error: ${error.message}`));
  page.on('console', (message) => message.type() === 'error' && page.trouble.push(`console: ${message.text()} ${message.location().url}`));
  return { context, page };
}
