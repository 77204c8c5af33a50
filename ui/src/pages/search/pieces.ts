// An excerpt in pieces: those that were looked for, and those between. Pure.

export function pieces(text: string, q: string): { text: string; hit: boolean }[] {
  const found: { text: string; hit: boolean }[] = [];
  const lower = text.toLowerCase();
  const word = q.toLowerCase();
  let from = 0;
  // A letter whose lower form is longer would move all places behind it: then nothing is marked.
  for (let at = word && lower.length === text.length ? lower.indexOf(word) : -1; at >= 0; at = lower.indexOf(word, from)) {
    if (at > from) found.push({ text: text.slice(from, at), hit: false });
    found.push({ text: text.slice(at, at + word.length), hit: true });
    from = at + word.length;
  }
  if (from < text.length) found.push({ text: text.slice(from), hit: false });
  return found;
}
