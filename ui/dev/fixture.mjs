// A stand-in for `convoke serve`: made-up runs over the HTTP contract, for development and for the tests of the page.
//
//   node dev/fixture.mjs [PORT] [--dist]     --dist serves ui/dist with the server's Content-Security-Policy
//
// Live runs move on by a clock of their own, twenty times a second. Nothing is kept.

import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { api } from './fixture/api.mjs';
import { World } from './fixture/world.mjs';

const port = Number(process.argv[2] ?? 4790);
const dist = join(dirname(fileURLToPath(import.meta.url)), '..', 'dist');
const CSP = "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";
const TYPES = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.html': 'text/html; charset=utf-8' };

function page(request, response) {
  const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname));
  const file = join(dist, path);
  const found = path !== '/' && existsSync(file) && statSync(file).isFile() ? file : join(dist, 'index.html');
  response.writeHead(200, { 'content-type': TYPES[extname(found)] ?? 'application/octet-stream', 'content-security-policy': CSP });
  createReadStream(found).pipe(response);
}

const world = new World();
setInterval(() => world.turn(), 50).unref();
const server = createServer((request, response) => {
  if (request.url.startsWith('/api/v1/')) api(world, request, response);
  else page(request, response);
});
server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/#token=fixture`));
