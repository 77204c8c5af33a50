// The worker that lays out graphs, so that a large plan does not hold up the page.

import type { Graph } from '../../api/types';
import { layout } from './layout';

addEventListener('message', ({ data }: MessageEvent<{ id: number; graph: Graph; folded: string[] }>) => {
  postMessage({ id: data.id, layout: layout(data.graph, new Set(data.folded)) });
});
