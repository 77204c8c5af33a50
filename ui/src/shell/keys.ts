// Keys of the page. A part that is shown takes a key and gives it back when it goes; the newest taker wins.
//
// No key acts while a person types, in a dialog, or with a modifier: the browser's and the reader's keys stay theirs.

type Action = () => void;
const taken = new Map<string, Action[]>();

/** Takes keys until the returned function is called. */
export function take(actions: Record<string, Action>): () => void {
  for (const [key, action] of Object.entries(actions)) taken.set(key, [...(taken.get(key) ?? []), action]);
  return () => {
    for (const [key, action] of Object.entries(actions)) {
      taken.set(key, (taken.get(key) ?? []).filter((other) => other !== action));
    }
  };
}

/** What a key press stands for, or null where it is not the page's. */
export function meant(event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'defaultPrevented' | 'target'>): string | null {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return null;
  const target = event.target as Element | null;
  if (target?.closest?.('input, textarea, select, [contenteditable], dialog')) return event.key === 'Escape' ? 'Escape' : null;
  if (event.key === 'Enter' && target?.closest?.('a, button, summary, label')) return null;
  return event.key;
}

export function listen(): void {
  document.addEventListener('keydown', (event) => {
    const key = meant(event);
    if (key === null || (document.querySelector('dialog[open]') && key !== 'Escape')) return;
    const action = taken.get(key)?.at(-1);
    if (!action) return;
    event.preventDefault();
    action();
  });
}
