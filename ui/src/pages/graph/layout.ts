// Where the nodes of a plan stand: from left to right, layered, with groups as frames around their members. Pure; runs in a worker.
//
// Each frame is laid out by itself, the inner ones first, and then stands as one box in its parent. Routes stay within their frame, so
// nothing is lost by it, and a frame that folds moves only what is outside of it.

import * as dagre from '@dagrejs/dagre';
import type { Graph, GraphEdge, GraphNode } from '../../api/types';

export interface Box {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
  /** A group that is open: its members stand inside. */
  frame: boolean;
  depth: number;
}

export interface Line {
  from: string;
  to: string;
  label: string;
  kind: GraphEdge['kind'];
  points: { x: number; y: number }[];
}

export interface Layout {
  boxes: Box[];
  lines: Line[];
  width: number;
  height: number;
}

export const CONTAINERS = ['group', 'for_each', 'workflow', 'parallel'];
const SIZES: Record<string, [number, number]> = { end: [44, 30], gate: [170, 52], set: [150, 40], wait: [150, 40] };
const PLAIN: [number, number] = [170, 52];
const STRIP: [number, number] = [270, 76];
const PAD = { x: 14, top: 34, bottom: 14 };
const MARGIN = 16;

/** How large a node is drawn. A fan-out and a folded frame have room for their strip. */
export function sizeOf(node: GraphNode, folded: boolean): [number, number] {
  if (folded || node.kind === 'for_each') return STRIP;
  return SIZES[node.kind] ?? PLAIN;
}

export function layout(graph: Graph, folded: ReadonlySet<string>): Layout {
  const known = new Map(graph.nodes.map((node) => [node.id, node]));
  const members = new Map<string, GraphNode[]>();
  for (const node of graph.nodes) {
    const parent = node.parent && known.has(node.parent) ? node.parent : '';
    members.set(parent, [...(members.get(parent) ?? []), node]);
  }
  const level = new Level(known, members, graph.edges, folded);
  const { boxes, lines, width, height } = level.place('', 0);
  return { boxes, lines, width, height };
}

// A line that leads on leaves in the middle of the right side and comes in the middle of the left one.
function between(g: dagre.graphlib.Graph, edge: GraphEdge, points: { x: number; y: number }[]): { x: number; y: number }[] {
  const [from, to] = [edge.from, edge.to].map((id) => g.node(id) as { x: number; y: number; width: number });
  if (!from || !to || points.length < 2) return points;
  return [{ x: from.x + from.width / 2, y: from.y }, ...points.slice(1, -1), { x: to.x - to.width / 2, y: to.y }];
}

class Level {
  constructor(
    private known: Map<string, GraphNode>,
    private members: Map<string, GraphNode[]>,
    private edges: GraphEdge[],
    private folded: ReadonlySet<string>,
  ) {}

  place(parent: string, depth: number): Layout {
    const nodes = this.members.get(parent) ?? [];
    const inner = new Map<string, Layout>();
    const g = new dagre.graphlib.Graph({ multigraph: true });
    g.setGraph({ rankdir: 'LR', nodesep: 22, ranksep: 34, edgesep: 12, marginx: MARGIN, marginy: MARGIN });
    g.setDefaultEdgeLabel(() => ({}));
    for (const node of nodes) {
      let [width, height] = sizeOf(node, this.folded.has(node.id));
      if (this.isOpen(node.id)) {
        const within = this.place(node.id, depth + 1);
        inner.set(node.id, within);
        [width, height] = [Math.max(160, within.width + 2 * (PAD.x - MARGIN)), within.height - 2 * MARGIN + PAD.top + PAD.bottom];
      }
      g.setNode(node.id, { width, height });
    }
    const edges = this.edgesIn(parent, nodes);
    edges.forEach((edge, at) => {
      // An edge that leads back must not pull its target behind its source.
      const [from, to] = edge.kind === 'back' ? [edge.to, edge.from] : [edge.from, edge.to];
      g.setEdge(from, to, edge.label ? { width: Math.min(120, edge.label.length * 6), height: 14, labelpos: 'c' } : {}, String(at));
    });
    dagre.layout(g);
    return this.read(g, nodes, edges, inner, depth);
  }

  private isOpen(id: string): boolean {
    return !this.folded.has(id) && (this.members.get(id)?.length ?? 0) > 0;
  }

  // The edges between members of one frame; an edge from deeper inside is lifted to the member that holds its end.
  private edgesIn(parent: string, nodes: GraphNode[]): GraphEdge[] {
    const here = new Set(nodes.map((node) => node.id));
    const seen = new Set<string>();
    const found: GraphEdge[] = [];
    for (const edge of this.edges) {
      const from = this.lift(edge.from, parent, here);
      const to = this.lift(edge.to, parent, here);
      const name = `${from}\n${to}\n${edge.kind}\n${edge.label ?? ''}`;
      if (!from || !to || from === to || seen.has(name)) continue;
      seen.add(name);
      found.push({ ...edge, from, to });
    }
    return found;
  }

  private lift(id: string, parent: string, here: Set<string>): string | null {
    for (let at: string | null | undefined = id, guard = 0; at && guard < 64; at = this.known.get(at)?.parent, guard++) {
      if (here.has(at)) return at;
      if (at === parent) return null;
    }
    return null;
  }

  private read(g: dagre.graphlib.Graph, nodes: GraphNode[], edges: GraphEdge[], inner: Map<string, Layout>, depth: number): Layout {
    const boxes: Box[] = [];
    const lines: Line[] = [];
    for (const { id } of nodes) {
      const at = g.node(id) as { x: number; y: number; width: number; height: number };
      const [x, y] = [at.x - at.width / 2, at.y - at.height / 2];
      const within = inner.get(id);
      boxes.push({ id, x, y, width: at.width, height: at.height, frame: !!within, depth });
      if (!within) continue;
      const [dx, dy] = [x + PAD.x - MARGIN, y + PAD.top - MARGIN];
      for (const box of within.boxes) boxes.push({ ...box, x: box.x + dx, y: box.y + dy });
      for (const line of within.lines) lines.push({ ...line, points: line.points.map((point) => ({ x: point.x + dx, y: point.y + dy })) });
    }
    edges.forEach((edge, at) => {
      const back = edge.kind === 'back';
      const laid = g.edge(back ? { v: edge.to, w: edge.from, name: String(at) } : { v: edge.from, w: edge.to, name: String(at) }) as { points: { x: number; y: number }[] };
      const points = laid.points.map(({ x, y }) => ({ x, y }));
      lines.push({ from: edge.from, to: edge.to, label: edge.label ?? '', kind: edge.kind, points: back ? points.reverse() : between(g, edge, points) });
    });
    const { width = 0, height = 0 } = g.graph() as { width?: number; height?: number };
    return { boxes, lines, width: Math.max(0, width), height: Math.max(0, height) };
  }
}
