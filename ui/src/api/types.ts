// The shapes of the HTTP contract, as the server sends them. Field names are the server's; nothing is renamed on the way.

export type State =
  | 'waiting'
  | 'blocked'
  | 'running'
  | 'done'
  | 'failed'
  | 'asks'
  | 'skipped'
  | 'cancelled'
  | 'retrying'
  | 'interrupted';

export type Counts = Partial<Record<State, number>>;
export type Role = 'view' | 'operate' | 'approve';
/** Microseconds since 1970, UTC. */
export type Micros = number;

export interface Session {
  name: string;
  role: Role;
  version: string;
  state_dir: string;
  can_start: boolean;
  folders: string[];
  server_time: Micros;
  can_act?: { operate: boolean; approve: boolean };
}

export interface Tokens {
  input: number;
  output: number;
}

export interface RunRow {
  run: string;
  workflow: string;
  status: string;
  started: Micros;
  ended?: Micros | null;
  worked_ms: number;
  counts: Counts;
  total: number;
  expected?: number | null;
  cost_micros: number | null;
  tokens?: Tokens | null;
  asks: number;
  live: boolean;
  folder: string;
  last_event?: Micros | null;
  labels?: Record<string, string> | null;
  stalled?: number | null;
}

export interface Failure {
  class: string;
  message: string;
  hint?: string | null;
  task?: string | null;
}

/** A value as text, whole or cut; `value` is the address of all of it. */
export type Payload = unknown;

export interface RunHead extends Omit<RunRow, 'stalled'> {
  position: number;
  budget?: { limit_micros: number; used_micros: number | null } | null;
  eta_ms?: number | null;
  failure?: Failure | null;
  output?: Payload;
  provider?: string | null;
  file?: string;
  blocked?: string | null;
  stalled?: Stalled[] | null;
  addresses?: string[];
  nodes?: Record<string, Counts>;
}

export interface Stalled {
  task: string;
  since: Micros;
}

export interface GraphNode {
  id: string;
  kind: string;
  title: string;
  parent?: string | null;
  model?: string | null;
  needs?: string[];
  count?: number | null;
}

export interface GraphEdge {
  from: string;
  to: string;
  label?: string | null;
  kind: 'route' | 'need' | 'error' | 'back';
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  entry?: string | null;
}

export interface TaskRow {
  task: string;
  node: string;
  title: string;
  kind: string;
  parent?: string | null;
  state: State;
  since: Micros;
  started?: Micros | null;
  ended?: Micros | null;
  queued_ms: number;
  ran_ms: number;
  attempts: number;
  failure?: string | null;
  tokens?: Tokens | null;
  cost_micros: number | null;
  waits?: string | null;
  doing?: string | null;
  last_sign?: Micros | null;
  item?: number | null;
  order: number;
  /** The number of the event that changed it last. */
  changed?: number;
  /** A step of the plan that was not reached. */
  expected?: boolean;
  /** A question that a step asks on its way: not counted. */
  aside?: boolean;
}

export interface Attempt {
  number: number;
  started: Micros;
  ended?: Micros | null;
  end?: string | null;
  failure?: string | null;
  usage?: Record<string, number> | null;
  model?: string | null;
  performed_by?: string | null;
}

export interface PromptPart {
  name: string;
  text: string;
  cut?: number | null;
  value?: string | null;
}

export interface Turn {
  role: string;
  text?: string | null;
  tool?: string | null;
  arguments?: unknown;
  result?: unknown;
  ms?: number | null;
  failed?: boolean | null;
  cut?: number | null;
}

export interface Decision {
  chosen: string;
  reason: string;
  at: Micros;
  about?: string | null;
  role?: string | null;
}

export interface Composite {
  strategy?: string;
  sources?: { mark?: string; task?: string; title?: string; missing?: boolean }[];
  levels?: { level: number; tasks: string[] }[];
  tries?: string[];
  flags?: Record<string, unknown>;
  handed?: { from: string; text?: string; payload?: Payload }[];
  announced?: { kind: string; payload?: Payload }[];
  why?: string;
}

export interface TaskDetail extends Omit<TaskRow, 'attempts'> {
  attempts: Attempt[];
  prompt?: { parts: PromptPart[] } | null;
  output?: Payload;
  conversation?: Turn[];
  contract?: unknown;
  causes?: { text: string; task?: string | null }[];
  waits_for?: { text: string; holders?: { run?: string; task?: string }[]; until?: Micros | null }[];
  question?: Question | null;
  partial?: string | null;
  decisions?: Decision[];
  composite?: Composite | null;
}

export interface Field {
  id: string;
  text?: string;
  hint?: string | null;
  choices?: (string | { value: string; label?: string })[];
  free_text?: boolean;
  default?: string | null;
  required?: boolean;
  multiline?: boolean;
}

export interface Option {
  value: string;
  label: string;
  then?: string | null;
  /** A text that this option asks for besides. */
  prompt_for?: string | null;
  multiline?: boolean;
}

/** What answers a question: the same as `convoke answer` takes. */
export interface Answer {
  values: string[];
  inputs?: Record<string, string>;
}

export interface Question {
  run: string;
  workflow: string;
  task: string;
  id: string;
  shown: string;
  kind: string;
  title: string;
  text: string;
  fields?: Field[];
  options?: Option[];
  opened: Micros;
  until?: Micros | null;
  last_steps?: string[];
  group_key?: string;
  by_agent?: boolean;
}

export interface Timeline {
  from: Micros;
  to: Micros;
  position: number;
  idle: [Micros, Micros][];
  critical: number[];
  rows: {
    task: string[];
    state: State[];
    queued: (Micros | null)[];
    started: (Micros | null)[];
    ended: (Micros | null)[];
    retries: Micros[][];
  };
}

export interface Sentence {
  at: Micros;
  seq: number;
  text: string;
  tone?: string;
  task?: string | null;
}

export interface Marker {
  seq: number;
  at: Micros;
  kind: string;
  text: string;
  task?: string | null;
}

export interface Limit {
  name: string;
  limit: number | null;
  used: number;
  held?: number;
  queued: number;
  learned?: number | boolean | null;
  since?: Micros | null;
  reason?: string | null;
  holders?: { run?: string; task?: string; process?: string | number }[];
  history?: number[];
}

export interface Capacity {
  limits: Limit[];
  budgets?: {
    scope: string;
    period?: string;
    limit_micros: number | null;
    used_micros: number | null;
    days?: { day: string; cost_micros: number | null }[];
  }[];
  processes?: { pid: number; host?: string; run?: string; role?: string; started?: Micros; running?: number }[];
}

export interface WorkflowFile {
  file: string;
  title?: string;
  folder?: string;
  description?: string;
  inputs?: InputField[];
  error?: string;
}

export interface InputField {
  name: string;
  type?: string;
  required?: boolean;
  default?: unknown;
  description?: string;
}

export interface Divergence {
  task: string;
  kind: 'cause' | 'consequence';
  what: string;
  a?: unknown;
  b?: unknown;
  why?: string;
}

export interface Comparison {
  a?: RunRow;
  b?: RunRow;
  divergences: Divergence[];
  cost?: { a: number | null; b: number | null };
  time?: { a: number | null; b: number | null };
}

export interface Hit {
  task: string;
  where: string;
  excerpt: string;
}
