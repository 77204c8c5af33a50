// Reads a stream of server-sent events from a `fetch` body. Pure: text in, messages out; parts of lines are kept for the next piece.

export interface Message {
  type: string;
  id: string | null;
  data: string;
}

/** Takes pieces of text as they arrive and gives the messages that are whole. */
export class Reader {
  private rest = '';
  private type = '';
  private id: string | null = null;
  private data: string[] = [];

  take(piece: string): Message[] {
    const lines = (this.rest + piece).split('\n');
    this.rest = lines.pop() ?? '';
    const whole: Message[] = [];
    for (const line of lines) this.line(line.endsWith('\r') ? line.slice(0, -1) : line, whole);
    return whole;
  }

  private line(line: string, whole: Message[]): void {
    if (line === '') {
      if (this.data.length) whole.push({ type: this.type || 'message', id: this.id, data: this.data.join('\n') });
      this.type = '';
      this.id = null;
      this.data = [];
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return; // a comment
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    if (name === 'event') this.type = value;
    else if (name === 'data') this.data.push(value);
    else if (name === 'id') this.id = value;
  }
}
