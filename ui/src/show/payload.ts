// What a payload is: a text or JSON, whole or the beginning of a large one with the address of all of it. Pure.

export interface Unwrapped {
  value: unknown;
  /** The address of the whole, where this is only its beginning. */
  address: string | null;
  /** How many bytes the whole has. */
  bytes: number | null;
}

/** Looks into a payload. A value that is none is itself. */
export function unwrap(payload: unknown): Unwrapped {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return { value: payload, address: null, bytes: null };
  const { text, json, bytes, cut, value } = payload as Record<string, unknown>;
  if (typeof text !== 'string' || typeof json !== 'boolean') return { value: payload, address: null, bytes: null };
  return {
    value: json && !cut ? read(text) : text,
    address: cut && typeof value === 'string' ? value : null,
    bytes: typeof bytes === 'number' ? bytes : null,
  };
}

/** The answer of an agent without a schema is an object with one text: then that text is the answer. */
export function answerText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const [only, ...others] = Object.entries(value);
  return only && !others.length && only[0] === 'result' && typeof only[1] === 'string' ? only[1] : null;
}

/** A text as the JSON that it is, or as itself. */
export function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A value as one line. */
export function oneLine(payload: unknown, most = 200): string {
  const { value } = unwrap(payload);
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const line = text.slice(0, 4 * most).replace(/\s+/g, ' ').trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
