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
  file?: string;
  /** Why the run cannot be read. */
  problem?: string | null;
}

export interface Failure {
  class: string;
  message: string;
  hint?: string | null;
  task?: string | null;
}

/** A value as text, whole or cut; `value` is the address of all of it. */
export type Payload = unknown;

export interface RunHead extends RunRow {
  position: number;
  budget?: { limit_micros: number | null; limit_tokens: number | null; used_micros: number | null; used_tokens: number } | null;
  eta_ms?: number | null;
  failure?: Failure | null;
  output?: Payload;
  blocked?: string | null;
  stalled?: Stalled[] | null;
  addresses?: string[];
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
  /** Only a part of a very large plan. */
  cut?: boolean;
}

export interface TaskRow {
  task: string;
  node: string;
  title: string;
  kind: string | null;
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
  /** The key of the item, where the task is one of a fan-out. */
  item?: string | null;
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
  failure?: Failure | null;
  tokens?: Tokens | null;
  cost_micros: number | null;
  performed_by?: number | null;
}

export interface PromptPart {
  name: string;
  text: string;
  cut?: number | null;
}

export interface Turn {
  role: string;
  text?: string | null;
  tool?: string | null;
  arguments?: string | null;
  failed?: boolean;
  /** How many characters are left out. */
  cut?: number | null;
}

export interface Decision {
  chosen: string;
  reason: string;
  at: Micros;
  about?: string | null;
  role?: string | null;
}

export interface TaskDetail extends TaskRow {
  tries: Attempt[];
  prompt?: { parts: PromptPart[] } | null;
  output?: Payload;
  conversation?: Turn[];
  /** How many earlier turns are left out. */
  conversation_cut?: number;
  contract?: unknown;
  causes?: { text: string; task?: string | null }[];
  waits_for?: { text: string; limit?: string | null; holders?: { run?: string | null; task?: string | null }[]; until?: Micros | null }[];
  question?: Question | null;
  partial?: Payload;
  decisions?: Decision[];
  failed?: Failure | null;
}

/** An event of the journal. */
export interface Stamped {
  seq: number;
  at: Micros;
  event: Record<string, any>;
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
    /** For how long it waited, in milliseconds. */
    queued: number[];
    /** 0 where it has not. */
    started: Micros[];
    ended: Micros[];
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
  /** What its amounts count: `count`, `tokens`, or `usd_micros`, millionths of a dollar. */
  unit?: string;
  /** Null where there is none. */
  limit: number | null;
  used: number;
  /** Held by processes that are silent. */
  held: number;
  /** Was used and is counted by the service still. */
  lingering?: number;
  queued: number;
  origin: string;
  by_hand: boolean;
  window_ms?: number | null;
  paused_for_ms?: number | null;
  holders: { run: string; process?: number | null; workflow: string; used: number }[];
  /** The most that was in use in each minute of the last hour, the newest last. */
  recent: number[];
}

export interface Process {
  pid: number;
  run: string;
  workflow: string;
  state: string;
  leases: number;
  waiting: number;
}

export interface Capacity {
  limits: Limit[];
  processes: Process[];
  shared?: boolean;
}

/** What the runs cost that began on one day (UTC). */
export interface Day {
  day: Micros;
  runs: number;
  known_micros: number;
  /** Null where the price of a call is not known. */
  cost_micros: number | null;
  tokens: number;
}

export interface WorkflowFile {
  file: string;
  folder: string;
  name: string;
  description?: string | null;
  inputs?: InputField[] | null;
  problem?: string | null;
}

export interface InputField {
  name: string;
  type?: string;
  required?: boolean;
  default?: unknown;
  description?: string | null;
}

export interface Change {
  field: string;
  before?: string | null;
  after?: string | null;
}

/** A difference of two runs: a cause, or what follows from one. */
export interface Difference {
  kind?: string;
  task?: string | null;
  also?: string[];
  what: string;
  changes?: Change[];
  cause?: number;
}

export interface Totals {
  attempts: number;
  ms: number;
  usage: Record<string, number>;
}

export interface Comparison {
  equal: boolean;
  runs: [ComparedRun, ComparedRun];
  causes: Difference[];
  consequences: Difference[];
  circumstances: Change[];
  tasks: { task: string; totals: [Totals | null, Totals | null] }[];
}

export interface ComparedRun extends Totals {
  run?: string | null;
  workflow: string;
  status?: string | null;
}

export interface Hit {
  task: string | null;
  seq: number;
  where: string;
  excerpt: string;
}
