import { expect, test } from 'vitest';
import { Reader, type Message } from './sse';

const stream = 'event: hello\nid: 1\ndata: {"stream":"s"}\n\n: a comment\ndata: a\ndata: b\r\n\r\nevent: ping\ndata:\n\n';
const messages: Message[] = [
  { type: 'hello', id: '1', data: '{"stream":"s"}' },
  { type: 'message', id: null, data: 'a\nb' },
  { type: 'ping', id: null, data: '' },
];

test('a stream gives the same messages wherever it is cut', () => {
  for (let cut = 0; cut <= stream.length; cut++) {
    const reader = new Reader();
    expect([...reader.take(stream.slice(0, cut)), ...reader.take(stream.slice(cut))]).toEqual(messages);
  }
});

test('a message that is not whole is kept back', () => {
  expect(new Reader().take('event: runs\ndata: {}\n')).toEqual([]);
});
