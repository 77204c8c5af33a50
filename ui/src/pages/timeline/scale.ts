// Where a moment stands on the timeline, and which moment a place is. Idle stretches are folded to a fixed width. Pure.

export interface Piece {
  from: number;
  to: number;
  x: number;
  width: number;
  idle: boolean;
}

const FOLD = 34;
// A fold must save something.
const WORTH = 3;

export class Scale {
  readonly pieces: Piece[] = [];

  constructor(
    readonly from: number,
    readonly to: number,
    readonly width: number,
    idle: readonly (readonly [number, number])[] = [],
  ) {
    const span = Math.max(1, to - from);
    const inside = merged(idle).map(([a, b]) => [Math.max(a, from), Math.min(b, to)] as const).filter(([a, b]) => b > a);
    const worth = inside.filter(([a, b]) => ((b - a) / span) * width > FOLD * WORTH || (b - a) / span > 0.08);
    const folds = worth.length * FOLD < width * 0.6 ? worth : [];
    const busy = Math.max(1, span - folds.reduce((sum, [a, b]) => sum + b - a, 0));
    const perMicro = Math.max(0, width - folds.length * FOLD) / busy;
    let x = 0;
    let at = from;
    const add = (end: number, isIdle: boolean) => {
      if (end <= at && !isIdle) return;
      const wide = isIdle ? FOLD : (end - at) * perMicro;
      this.pieces.push({ from: at, to: end, x, width: wide, idle: isIdle });
      x += wide;
      at = end;
    };
    for (const [a, b] of folds) {
      add(a, false);
      add(b, true);
    }
    add(to, false);
    if (!this.pieces.length) this.pieces.push({ from, to: from + 1, x: 0, width, idle: false });
  }

  x(time: number): number {
    const piece = this.pieceAt((one) => time < one.to);
    const share = (time - piece.from) / Math.max(1, piece.to - piece.from);
    return piece.x + Math.min(1, Math.max(0, share)) * piece.width;
  }

  time(x: number): number {
    const piece = this.pieceAt((one) => x < one.x + one.width);
    const share = (x - piece.x) / Math.max(1e-9, piece.width);
    return Math.round(piece.from + Math.min(1, Math.max(0, share)) * (piece.to - piece.from));
  }

  private pieceAt(fits: (piece: Piece) => boolean): Piece {
    return this.pieces.find(fits) ?? this.pieces.at(-1)!;
  }

  /** How far moments at the upper edge are apart. */
  step(apart = 110): number {
    const busy = this.pieces.filter((piece) => !piece.idle);
    const perMicro = busy.reduce((sum, piece) => sum + piece.width, 0) / Math.max(1, busy.reduce((sum, piece) => sum + piece.to - piece.from, 0));
    return STEPS.find((each) => each * perMicro >= apart) ?? STEPS.at(-1)!;
  }

  /** Moments to write at the upper edge: round ones, far enough apart. */
  ticks(apart = 110): number[] {
    const busy = this.pieces.filter((piece) => !piece.idle);
    const step = this.step(apart);
    const found: number[] = [];
    for (const piece of busy) {
      for (let at = Math.ceil(piece.from / step) * step; at <= piece.to && found.length < 60; at += step) {
        const last = found.at(-1);
        if (last === undefined || this.x(at) - this.x(last) >= apart * 0.7) found.push(at);
      }
    }
    return found;
  }
}

function merged(ranges: readonly (readonly [number, number])[]): [number, number][] {
  const found: [number, number][] = [];
  for (const [a, b] of [...ranges].sort((one, other) => one[0] - other[0])) {
    const last = found.at(-1);
    if (last && a <= last[1]) last[1] = Math.max(last[1], b);
    else found.push([a, b]);
  }
  return found;
}

const SECOND = 1_000_000;
const STEPS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400, 604800].map(
  (seconds) => seconds * SECOND,
);

/** Rows from the first to the last moment at which they waited or ran. Those that have not begun are at the end. */
export function inOrder(started: readonly number[], queued: readonly number[]): number[] {
  const key = Float64Array.from(started, (began, row) => (began ? began - (queued[row] ?? 0) * 1_000 : Infinity));
  const rows = Array.from(started, (_, row) => row);
  // As a rule they are in order already.
  return key.every((value, row) => !row || key[row - 1]! <= value) ? rows : rows.sort((a, b) => key[a]! - key[b]! || a - b);
}
