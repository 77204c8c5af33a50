// Asks the worker for layouts. Only the newest question counts, and a layout is kept for as long as plan and folds are the same.

import type { Graph } from '../../api/types';
import type { Layout } from './layout';

let worker: Worker | null = null;
let newest = 0;
let answer: (layout: Layout) => void = () => {};
let kept: { graph: Graph; folded: string; layout: Layout } | null = null;

export function arrange(graph: Graph, folded: string[], then: (layout: Layout) => void): void {
  const name = folded.join('\n');
  if (kept && kept.graph === graph && kept.folded === name) return then(kept.layout);
  worker ??= begin();
  const id = ++newest;
  answer = (layout) => {
    kept = { graph, folded: name, layout };
    then(layout);
  };
  worker.postMessage({ id, graph, folded });
}

function begin(): Worker {
  const made = started();
  made.addEventListener('message', ({ data }: MessageEvent<{ id: number; layout: Layout }>) => {
    if (data.id === newest) answer(data.layout);
  });
  return made;
}

// A page that is a file has the worker's text in itself: it can load nothing. A browser lets such a page start a worker of the classic kind
// only; the text is the same for both kinds, as it imports nothing.
function started(): Worker {
  const text = document.getElementById('layout-worker')?.textContent;
  if (!text) return new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module' });
  return new Worker(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })));
}
