// A model service that writes slowly: an OpenAI-compatible endpoint that streams its answer word by word. For the end-to-end tests.
//
// The answer stops in the middle until `go` is called, so that a test sees it unfinished without waiting for a time.

import { createServer } from 'node:http';

export const WORDS = Array.from({ length: 60 }, (_, at) => `word-${at + 1}`);

export async function service() {
  let go;
  const gone = new Promise((resolve) => (go = resolve));
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => void write(response, gone).catch(() => {}));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, go, close: () => server.close() };
}

async function write(response, gone) {
  const piece = (delta, reason = null) => `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
  for (const [at, word] of WORDS.entries()) {
    if (at === WORDS.length / 2) await gone;
    response.write(piece({ content: `${word} ` }));
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  response.end(`${piece({}, 'stop')}data: [DONE]\n\n`);
}
