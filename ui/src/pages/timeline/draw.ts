// Draws a piece of the timeline on a canvas: waiting is hatched, running is solid, retries are notches, the critical path is one colour.
//
// Only the rows in sight are drawn, so a run of 100 000 events costs as much as a small one.

import type { State, Timeline } from '../../api/types';
import { length } from '../../show/time';
import { colour } from '../../store/theme.svelte';
import type { Scale } from './scale';

export interface Sight {
  /** Rows of the timeline, as the table beside it lists them. */
  rows: number[];
  top: number;
  height: number;
  rowHeight: number;
  cursor: number | null;
}

export function drawRows(canvas: HTMLCanvasElement, timeline: Timeline, critical: ReadonlySet<number>, scale: Scale, sight: Sight): void {
  const pen = prepare(canvas, scale.width, sight.height);
  const { rowHeight } = sight;
  const first = Math.max(0, Math.floor(sight.top / rowHeight));
  const last = Math.min(sight.rows.length, Math.ceil((sight.top + sight.height) / rowHeight));
  drawIdle(pen, scale, sight.height);
  pen.strokeStyle = colour('line');
  pen.lineWidth = 1;
  for (const tick of scale.ticks()) line(pen, scale.x(tick), sight.height);
  const hatch = hatching(pen);
  const colours: Partial<Record<State, string>> = {};
  for (let at = first; at < last; at++) {
    const row = sight.rows[at]!;
    const state = timeline.rows.state[row]!;
    const fill = (colours[state] ??= colour(`fill-${state}`));
    drawRow(pen, timeline, row, scale, at * rowHeight - sight.top, rowHeight, fill, hatch, critical.has(row));
  }
  if (sight.cursor !== null) {
    pen.strokeStyle = colour('accent');
    line(pen, sight.cursor, sight.height);
  }
}

function drawRow(pen: CanvasRenderingContext2D, timeline: Timeline, row: number, scale: Scale, y: number, height: number, fill: string, hatch: CanvasPattern | string, critical: boolean): void {
  const { queued, started, ended, retries } = timeline.rows;
  const begin = started[row];
  const end = ended[row] || timeline.to;
  const tall = height - 14;
  if (!begin) return;
  if (queued[row]) {
    const from = scale.x(begin - queued[row] * 1_000);
    pen.fillStyle = hatch;
    pen.fillRect(from, y + 7, Math.max(1, scale.x(begin) - from), tall);
  }
  const from = scale.x(begin);
  const wide = Math.max(2, scale.x(end) - from);
  pen.fillStyle = fill;
  pen.fillRect(from, y + 7, wide, tall);
  pen.fillStyle = colour('ground');
  for (const retry of retries[row] ?? []) pen.fillRect(scale.x(retry) - 1, y + 7, 2, tall);
  if (critical) {
    pen.fillStyle = colour('critical');
    pen.fillRect(from, y + height - 6, wide, 3);
  }
}

/** How many tasks ran and waited at each moment, over the whole run, with the part that is shown. */
export function drawOverview(canvas: HTMLCanvasElement, loads: { ran: Float32Array; waited: Float32Array }, width: number, height: number, shown: [number, number]): void {
  const pen = prepare(canvas, width, height);
  const most = loads.ran.reduce((top, value, at) => Math.max(top, value + loads.waited[at]!), 1);
  const step = width / loads.ran.length;
  const bars = (values: (at: number) => number, base: (at: number) => number, fill: string) => {
    pen.fillStyle = fill;
    for (let at = 0; at < loads.ran.length; at++) {
      const tall = (values(at) / most) * (height - 4);
      if (tall > 0) pen.fillRect(at * step, height - (base(at) / most) * (height - 4) - Math.max(1, tall), step + 0.5, Math.max(1, tall));
    }
  };
  bars((at) => loads.waited[at]!, (at) => loads.ran[at]!, colour('fill-waiting'));
  bars((at) => loads.ran[at]!, () => 0, colour('fill-running'));
  if (shown[0] <= 0 && shown[1] >= width) return;
  pen.fillStyle = colour('accent');
  pen.globalAlpha = 0.14;
  pen.fillRect(shown[0], 0, shown[1] - shown[0], height);
  pen.globalAlpha = 1;
  pen.fillRect(shown[0], 0, 2, height);
  pen.fillRect(shown[1] - 2, 0, 2, height);
}

/** Counts what ran and waited in each of so many slices of the run. One pass over the rows. */
export function loads(timeline: Timeline, scale: Scale, slices: number): { ran: Float32Array; waited: Float32Array } {
  const ran = new Float32Array(slices + 1);
  const waited = new Float32Array(slices + 1);
  const { queued, started, ended } = timeline.rows;
  const slice = (time: number) => Math.min(slices - 1, Math.max(0, Math.floor((scale.x(time) / scale.width) * slices)));
  for (let row = 0; row < started.length; row++) {
    const begin = started[row];
    const end = ended[row] || timeline.to;
    if (!begin) continue;
    const wait = queued[row] ?? 0;
    if (wait) mark(waited, slice(begin - wait * 1_000), slice(begin));
    mark(ran, slice(begin), slice(end) + 1);
  }
  for (let at = 1; at <= slices; at++) {
    ran[at]! += ran[at - 1]!;
    waited[at]! += waited[at - 1]!;
  }
  return { ran: ran.subarray(0, slices), waited: waited.subarray(0, slices) };
}

function mark(changes: Float32Array, from: number, to: number): void {
  if (to <= from) return;
  changes[from]! += 1;
  changes[to]! -= 1;
}

function drawIdle(pen: CanvasRenderingContext2D, scale: Scale, height: number): void {
  for (const piece of scale.pieces) {
    if (!piece.idle) continue;
    pen.fillStyle = colour('panel');
    pen.fillRect(piece.x, 0, piece.width, height);
    pen.save();
    pen.translate(piece.x + piece.width / 2 + 4, 12);
    pen.rotate(Math.PI / 2);
    pen.fillStyle = colour('muted');
    pen.font = '11px system-ui, sans-serif';
    pen.fillText(`idle ${length((piece.to - piece.from) / 1_000)}`, 0, 0);
    pen.restore();
  }
}

function line(pen: CanvasRenderingContext2D, x: number, height: number): void {
  pen.beginPath();
  pen.moveTo(Math.round(x) + 0.5, 0);
  pen.lineTo(Math.round(x) + 0.5, height);
  pen.stroke();
}

function hatching(pen: CanvasRenderingContext2D): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const small = tile.getContext('2d')!;
  small.strokeStyle = colour('strong-line');
  small.lineWidth = 1;
  small.beginPath();
  small.moveTo(-1, 7);
  small.lineTo(7, -1);
  small.stroke();
  return pen.createPattern(tile, 'repeat') ?? colour('fill-waiting');
}

function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const scale = devicePixelRatio || 1;
  const [wide, tall] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
  if (canvas.width !== wide || canvas.height !== tall) [canvas.width, canvas.height] = [wide, tall];
  const pen = canvas.getContext('2d')!;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}
