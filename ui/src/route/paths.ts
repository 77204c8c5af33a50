// Addresses of the page: what a path means, and the path of what. Pure, so that every view has an address that can be tested.

export const RUN_VIEWS = ['graph', 'timeline', 'table', 'story', 'goals', 'pipeline', 'merges', 'radar', 'search'] as const;
export type RunView = (typeof RUN_VIEWS)[number];

export type Place =
  | { page: 'runs' }
  | { page: 'run'; run: string; view: RunView }
  | { page: 'inbox' }
  | { page: 'capacity' }
  | { page: 'compare' }
  | { page: 'start' }
  | { page: 'unknown'; path: string };

// A page that is a file has one path: its addresses stand behind `#`.
const BASE = typeof document !== 'undefined' && document.getElementById('recorded-run') ? '#' : '';

/** A path of the page as an address that a link can have. */
export const addressOf = (path: string): string => BASE + path;

/** What a path means. */
export function read(path: string): Place {
  const [first = '', run, view] = path.split('/').filter(Boolean).map(safeDecode);
  if (first === '' || (first === 'runs' && !run)) return { page: 'runs' };
  if (first === 'runs' && run) {
    const known = RUN_VIEWS.find((name) => name === (view ?? 'graph'));
    return known ? { page: 'run', run, view: known } : { page: 'unknown', path };
  }
  if (first === 'inbox' || first === 'capacity' || first === 'compare' || first === 'start') return { page: first };
  return { page: 'unknown', path };
}

/** The path of a run's view. Its query is kept where the view stays within the run. */
export function runPath(run: string, view: RunView = 'graph', query: Record<string, string | null | undefined> = {}): string {
  return addressOf(`/runs/${encodeURIComponent(run)}/${view}` + queryText(query));
}

export function queryText(query: Record<string, string | number | null | undefined>): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') words.set(name, String(value));
  }
  const text = words.toString();
  return text ? `?${text}` : '';
}

function safeDecode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
