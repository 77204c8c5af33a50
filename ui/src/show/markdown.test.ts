import { expect, test } from 'vitest';
import { inline, parse, type Block, type Inline } from './markdown';

test('blocks are told apart', () => {
  const kinds = parse('# Title\n\ntext **bold** `x`\n\n- a\n- b\n  - c\n\n1. one\n2. two\n\n> said\n\n```rust\nlet x = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---').map((block) => block.kind);
  expect(kinds).toEqual(['heading', 'paragraph', 'list', 'list', 'quote', 'code', 'table', 'rule']);
});

test('a fence that is not closed keeps the rest as code', () => {
  expect(parse('```\na\n# b')).toEqual([{ kind: 'code', language: '', text: 'a\n# b' }]);
});

test('nested lists keep their levels', () => {
  const [list] = parse('- a\n  - b\n  - c\n- d') as [Extract<Block, { kind: 'list' }>];
  expect(list.items.length).toBe(2);
  expect(list.items[0]!.map((block) => block.kind)).toEqual(['paragraph', 'list']);
});

test('only addresses of the web become links', () => {
  const kinds = (text: string) => inline(text).map((part) => part.kind);
  expect(kinds('[a](https://example.org)')).toEqual(['link']);
  expect(kinds('[a](javascript:alert)')).toEqual(['text']);
  expect(kinds('[a](data:text/html,x)')).toEqual(['text']);
  expect(kinds('![pixel](/api/v1/runs)')).not.toContain('link');
});

test('tags of an answer stay text', () => {
  expect(parse('<script>alert(1)</script>')).toEqual([{ kind: 'paragraph', parts: [{ kind: 'text', text: '<script>alert(1)</script>' }] }]);
});

// Nothing is lost and nothing takes long, whatever a model writes.
test('every word of any text is still there', () => {
  const pieces = ['word', '**', '*', '`', '```\n', '\n', '- ', '> ', '# ', '|', '[', '](', ')', '_', '  ', '1. ', '~~', '\n\n', '|-|-|\n'];
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 500; round++) {
    const text = Array.from({ length: 40 }, () => pieces[random(pieces.length)]).join('');
    const words = text.split('word').length - 1;
    expect(wordsIn(parse(text)), text).toBe(words);
  }
});

test('a hostile answer neither exhausts the stack nor the clock', () => {
  expect(parse('>'.repeat(5_000) + ' x').length).toBe(1);
  expect(parse('**'.repeat(20_000)).length).toBeGreaterThan(0);
});

function wordsIn(blocks: Block[]): number {
  const of = (parts: Inline[]): number =>
    parts.reduce((sum, part) => sum + ('parts' in part ? of(part.parts) : part.text.split('word').length - 1), 0);
  return blocks.reduce((sum, block) => {
    if (block.kind === 'list') return sum + block.items.reduce((inner, item) => inner + wordsIn(item), 0);
    if (block.kind === 'quote') return sum + wordsIn(block.blocks);
    if (block.kind === 'code') return sum + block.text.split('word').length - 1 + (block.language.split('word').length - 1);
    if (block.kind === 'table') return sum + [block.head, ...block.rows].flat().reduce((inner, cell) => inner + of(cell), 0);
    return 'parts' in block ? sum + of(block.parts) : sum;
  }, 0);
}
