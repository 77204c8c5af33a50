// The one event stream of this page. It carries all topics, comes back by itself with `Last-Event-ID`, and stops while the tab is hidden.
//
// What it keeps true: messages reach the stores in order, at most once a frame; a hidden tab holds no connection.

import { address, ApiError, post, refusal, segment } from './client';
import { recorded } from './recorded';
import { authorization } from './session';
import { Reader, type Message } from './sse';

export type Link = 'connecting' | 'live' | 'lost' | 'paused' | 'refused';
type Handler = (type: string, data: any) => void;

// A tab that was left for a moment keeps its connection.
const HIDDEN_FOR = 5_000;
const SLOWEST_RETRY = 10_000;
// Two pings are missed: the connection is dead, whatever TCP says.
const SILENCE = 40_000;

class Stream {
  link: Link = 'connecting';
  refused: ApiError | null = null;
  onLink: () => void = () => {};
  private handlers = new Map<string, Set<Handler>>();
  private id: string | null = null;
  private last: string | null = null;
  private connection: AbortController | null = null;
  private waiting: Message[] = [];
  private frame = 0;
  private tries = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private changing = false;

  start(): void {
    document.addEventListener('visibilitychange', () => this.visibility());
    void this.connect();
  }

  /** Begins anew with what is asked for now, as after a new token. */
  restart(): void {
    this.last = null;
    this.tries = 0;
    this.drop('connecting');
    void this.connect();
  }

  /** Asks for a topic until the returned function is called. */
  follow(topic: string, handler: Handler): () => void {
    if (recorded) return () => {};
    const those = this.handlers.get(topic) ?? new Set();
    if (!those.size) this.handlers.set(topic, those);
    those.add(handler);
    this.topicsChanged();
    return () => {
      those.delete(handler);
      if (!those.size) this.handlers.delete(topic);
      this.topicsChanged();
    };
  }

  private visibility(): void {
    clearTimeout(this.timer);
    if (document.hidden) this.timer = setTimeout(() => this.drop('paused'), HIDDEN_FOR);
    else if (this.link === 'paused' || this.link === 'lost') void this.connect();
  }

  private drop(link: Link): void {
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.connection?.abort();
    this.connection = null;
    this.id = null;
    this.become(link);
  }

  private become(link: Link): void {
    if (this.link === link) return;
    this.link = link;
    this.onLink();
  }

  private topics(): string[] {
    return [...this.handlers.keys()];
  }

  // Several parts of a page change their topics at once; the server is told once.
  private topicsChanged(): void {
    if (this.changing) return;
    this.changing = true;
    setTimeout(() => {
      this.changing = false;
      if (!this.id) return;
      post(`/stream/${segment(this.id)}`, { topics: this.topics() }).catch(() => this.lost());
    }, 0);
  }

  private async connect(): Promise<void> {
    clearTimeout(this.timer);
    this.connection?.abort();
    const connection = (this.connection = new AbortController());
    if (this.link !== 'lost') this.become('connecting');
    try {
      const headers: Record<string, string> = { ...authorization(), accept: 'text/event-stream' };
      if (this.last) headers['last-event-id'] = this.last;
      const asked = this.topics();
      const answer = await fetch(address('/stream', { topics: asked.map((topic) => topic.replaceAll(',', '%2C')).join(',') }), {
        headers,
        cache: 'no-store',
        signal: connection.signal,
      });
      if (!answer.ok || !answer.body) throw await refusal(answer);
      await this.read(answer.body, asked, connection.signal);
      if (!connection.signal.aborted) this.lost();
    } catch (cause) {
      if (connection.signal.aborted) return;
      if (cause instanceof ApiError && (cause.status === 401 || cause.status === 403)) {
        this.refused = cause;
        this.drop('refused');
      } else this.lost();
    }
  }

  private async read(body: ReadableStream<Uint8Array>, asked: string[], signal: AbortSignal): Promise<void> {
    const pieces = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
    const reader = new Reader();
    for (;;) {
      this.listenForSilence();
      const { value, done } = await pieces.read();
      if (done || signal.aborted) return;
      for (const message of reader.take(value)) {
        if (message.type === 'hello') this.hello(message, asked);
        else if (message.type !== 'ping') this.waiting.push(message);
        if (message.id) this.last = message.id;
      }
      if (this.waiting.length && !this.frame) this.frame = requestAnimationFrame(() => this.deliver());
    }
  }

  private hello(message: Message, asked: string[]): void {
    this.id = (JSON.parse(message.data) as { stream: string }).stream;
    this.tries = 0;
    this.become('live');
    if (asked.join() !== this.topics().join()) this.topicsChanged();
  }

  private listenForSilence(): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.lost(), SILENCE);
  }

  private lost(): void {
    if (this.link === 'paused' || this.link === 'refused') return;
    this.drop('lost');
    const wait = Math.min(SLOWEST_RETRY, 500 * 2 ** this.tries++);
    this.timer = setTimeout(() => void this.connect(), wait);
  }

  private deliver(): void {
    this.frame = 0;
    const messages = this.waiting;
    this.waiting = [];
    for (const { type, data: text } of messages) {
      const data = JSON.parse(text);
      for (const handler of this.handlers.get(topicOf(type, data)) ?? []) handler(type, data);
    }
  }
}

/** The topic that a message belongs to. */
export function topicOf(type: string, data: { topic?: string; run?: string; task?: string }): string {
  if (data.topic) return data.topic;
  if (type === 'head' || type === 'tasks') return `run:${data.run}`;
  if (type === 'text') return `task:${data.run}:${data.task}`;
  return type;
}

export const stream = new Stream();
