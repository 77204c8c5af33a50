// Markdown to a tree that components draw. No HTML comes out of it: what an agent wrote can become text, never a tag or a script.

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong'; parts: Inline[] }
  | { kind: 'em'; parts: Inline[] }
  | { kind: 'del'; parts: Inline[] }
  | { kind: 'link'; to: string; parts: Inline[] };

export type Block =
  | { kind: 'heading'; level: number; parts: Inline[] }
  | { kind: 'paragraph'; parts: Inline[] }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'list'; ordered: boolean; start: number; items: Block[][] }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' };

// Deeper nesting is shown as text: a hostile answer must not exhaust the stack.
const DEEPEST = 8;

const FENCE = /^(`{3,}|~{3,})\s*([\w+.#-]*)\s*$/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^\s*([-*_])(\s*\1){2,}\s*$/;
const TABLE_LINE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

export function parse(text: string, depth = 0): Block[] {
  if (depth > DEEPEST) return [{ kind: 'paragraph', parts: [{ kind: 'text', text }] }];
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) at = block(lines, at, blocks, depth);
  return blocks;
}

// Reads one block and gives the line after it.
function block(lines: string[], at: number, blocks: Block[], depth: number): number {
  const line = lines[at]!;
  if (!line.trim()) return at + 1;
  const fence = FENCE.exec(line);
  if (fence) return code(lines, at, fence, blocks);
  const heading = HEADING.exec(line);
  if (heading) {
    blocks.push({ kind: 'heading', level: heading[1]!.length, parts: inline(heading[2]!) });
    return at + 1;
  }
  if (RULE.test(line)) {
    blocks.push({ kind: 'rule' });
    return at + 1;
  }
  if (line.startsWith('>')) {
    const end = until(lines, at, (next) => !next.startsWith('>'));
    const inner = lines.slice(at, end).map((quoted) => quoted.replace(/^> ?/, ''));
    blocks.push({ kind: 'quote', blocks: parse(inner.join('\n'), depth + 1) });
    return end;
  }
  if (ITEM.test(line)) return list(lines, at, blocks, depth);
  if (line.includes('|') && TABLE_LINE.test(lines[at + 1] ?? '') && lines[at + 1]!.includes('-')) return table(lines, at, blocks);
  const end = until(lines, at + 1, (next) => !next.trim() || FENCE.test(next) || HEADING.test(next) || next.startsWith('>') || ITEM.test(next));
  blocks.push({ kind: 'paragraph', parts: inline(lines.slice(at, end).join('\n')) });
  return end;
}

function until(lines: string[], from: number, ends: (line: string) => boolean): number {
  let at = from;
  while (at < lines.length && !ends(lines[at]!)) at++;
  return at;
}

function code(lines: string[], at: number, fence: RegExpExecArray, blocks: Block[]): number {
  const close = fence[1]!;
  const end = until(lines, at + 1, (next) => next.trim().startsWith(close) && !next.trim().slice(close.length).replaceAll(close[0]!, ''));
  blocks.push({ kind: 'code', language: fence[2]!, text: lines.slice(at + 1, end).join('\n') });
  return end + 1;
}

function list(lines: string[], at: number, blocks: Block[], depth: number): number {
  const first = ITEM.exec(lines[at]!)!;
  const indent = first[1]!.length;
  const ordered = /\d/.test(first[2]!);
  const items: string[][] = [];
  let next = at;
  for (; next < lines.length; next++) {
    const line = lines[next]!;
    const item = ITEM.exec(line);
    if (item && item[1]!.length <= indent + 1) {
      if (/\d/.test(item[2]!) !== ordered) break;
      items.push([item[3]!]);
    } else if (line.trim() && (line.startsWith(' '.repeat(indent + 2)) || lines[next - 1]?.trim())) {
      items.at(-1)!.push(line.slice(Math.min(indent + 2, line.length - line.trimStart().length)));
    } else if (!line.trim() && /^\s+\S|^\s*([-*+]|\d{1,9}[.)])\s/.test(lines[next + 1] ?? '')) {
      items.at(-1)!.push('');
    } else break;
  }
  const start = ordered ? Number.parseInt(first[2]!, 10) : 1;
  blocks.push({ kind: 'list', ordered, start, items: items.map((item) => parse(item.join('\n'), depth + 1)) });
  return next;
}

function table(lines: string[], at: number, blocks: Block[]): number {
  const end = until(lines, at + 2, (next) => !next.includes('|'));
  const rows = lines.slice(at + 2, end).map((row) => cells(row));
  blocks.push({ kind: 'table', head: cells(lines[at]!), rows });
  return end;
}

function cells(line: string): Inline[][] {
  const inner = line.trim().replace(/^\|/, '').replace(/\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) => inline(cell.trim().replaceAll('\\|', '|')));
}

const INLINE = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*(?=\S)([\s\S]+?)\*\*|__(?=\S)([\s\S]+?)__|~~(?=\S)([\s\S]+?)~~|\*(?=\S)([^*]+?)\*|\b_(?=\S)([^_]+?)_\b|\[([^\]\n]*)\]\(([^()\s]*)\)/;

export function inline(text: string, depth = 0): Inline[] {
  const parts: Inline[] = [];
  let rest = text;
  while (rest) {
    const found = depth < DEEPEST ? INLINE.exec(rest) : null;
    if (!found) break;
    if (found.index) parts.push({ kind: 'text', text: rest.slice(0, found.index) });
    parts.push(piece(found, depth + 1));
    rest = rest.slice(found.index + found[0].length);
  }
  if (rest) parts.push({ kind: 'text', text: rest });
  return parts;
}

function piece(found: RegExpExecArray, depth: number): Inline {
  const [whole, , code, strong, strong2, del, em, em2, words, to] = found;
  if (code !== undefined) return { kind: 'code', text: code };
  if (strong ?? strong2) return { kind: 'strong', parts: inline((strong ?? strong2)!, depth) };
  if (del) return { kind: 'del', parts: inline(del, depth) };
  if (em ?? em2) return { kind: 'em', parts: inline((em ?? em2)!, depth) };
  // Only addresses of the web: `javascript:` and the like stay text, and nothing is loaded by itself.
  if (to && /^(https?:|mailto:)/i.test(to)) return { kind: 'link', to, parts: inline(words || to, depth) };
  return { kind: 'text', text: whole };
}

/** Whether a text is likely Markdown, so that it is worth drawing. */
export function looksLikeMarkdown(text: string): boolean {
  return /^#{1,6}\s|^\s*[-*+]\s|^\s*\d+[.)]\s|^```|\*\*\S|`[^`]+`|^>\s|^\|.*\|/m.test(text);
}
