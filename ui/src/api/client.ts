// Calls of the HTTP API. Answers are JSON or an `ApiError` that carries what the server said, with its hint.

import { NotRecorded, recorded } from './recorded';
import { authorization } from './session';

const BASE = '/api/v1';

/** What is wrong with a file. */
export interface Finding {
  code?: string;
  severity?: string;
  message: string;
  file?: string;
  line?: number;
  column?: number;
  help?: string;
}

/** A call that was refused, or did not reach the server (`status` 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string | null = null,
    readonly findings: Finding[] = [],
  ) {
    super(message);
  }
}

type Query = Record<string, string | number | boolean | null | undefined>;

/** An address of the API with its query; what is empty is left out. */
export function address(path: string, query: Query = {}): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') words.set(name, String(value));
  }
  const text = words.toString();
  return BASE + path + (text ? `?${text}` : '');
}

/** A part of a path: a task's id is one segment. */
export const segment = encodeURIComponent;

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  if (recorded) return fromFile<T>(path, query);
  return call<T>('GET', address(path, query), undefined, signal);
}

function fromFile<T>(path: string, query: Query): T {
  try {
    return recorded!.get(path, query) as T;
  } catch (cause) {
    if (cause instanceof NotRecorded) throw new ApiError(404, 'not_recorded', cause.message, cause.hint);
    throw cause;
  }
}

export async function post<T>(path: string, body: unknown, headers: Record<string, string> = {}): Promise<T> {
  return call<T>('POST', address(path), body, undefined, headers);
}

export async function put<T>(path: string, body: unknown): Promise<T> {
  return call<T>('PUT', address(path), body);
}

/** The bytes of a value that a run names. */
export async function bytes(run: string, value: string): Promise<Blob> {
  const answer = await send('GET', address(`/runs/${segment(run)}/values/${segment(value)}`));
  return answer.blob();
}

async function call<T>(method: string, url: string, body?: unknown, signal?: AbortSignal, headers = {}): Promise<T> {
  const answer = await send(method, url, body, signal, headers);
  const text = await answer.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

async function send(method: string, url: string, body?: unknown, signal?: AbortSignal, headers = {}): Promise<Response> {
  if (recorded) throw new ApiError(0, 'not_recorded', 'this page is a file: nothing can be done from it');
  const init: RequestInit = { method, headers: { ...authorization(), ...headers }, cache: 'no-store' };
  if (signal) init.signal = signal;
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { ...init.headers, 'content-type': 'application/json' };
  }
  let answer: Response;
  try {
    answer = await fetch(url, init);
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new ApiError(0, 'unreachable', 'the server does not answer', 'is `convoke serve` still running?');
  }
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

/** What the server says about a call that it refused. */
export async function refusal(answer: Response): Promise<ApiError> {
  try {
    const { error } = (await answer.json()) as { error: { code: string; message: string; hint?: string; findings?: Finding[] } };
    return new ApiError(answer.status, error.code, error.message, error.hint ?? null, error.findings ?? []);
  } catch {
    return new ApiError(answer.status, 'unknown', `the server answered ${answer.status}`);
  }
}
