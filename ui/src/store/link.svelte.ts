// How the page stands with the server: the session it is in, and whether the stream of events is up.

import { ApiError, get } from '../api/client';
import { recorded } from '../api/recorded';
import { setToken } from '../api/session';
import { stream, type Link as StreamLink } from '../api/stream';
import type { Role, Session } from '../api/types';
import { clock } from './clock.svelte';

const RANK: Record<Role, number> = { view: 0, operate: 1, approve: 2 };

class Link {
  session: Session | null = $state.raw(null);
  refused: ApiError | null = $state.raw(null);
  stream: StreamLink = $state('connecting');
  since = $state(Date.now());

  start(): void {
    if (recorded) {
      this.stream = 'live';
      return;
    }
    stream.onLink = () => {
      this.stream = stream.link;
      this.since = Date.now();
      if (stream.link === 'refused') this.refused = stream.refused;
      if (stream.link === 'live' && !this.session) void this.ask();
    };
    void this.ask();
    stream.start();
  }

  /** Tries another token. */
  async enter(token: string): Promise<void> {
    setToken(token);
    await this.ask();
    if (!this.refused) stream.restart();
  }

  /** Whether the token of this page allows what takes a role. */
  may(role: Role): boolean {
    const can = this.session?.can_act;
    if (can && role !== 'view') return can[role];
    return this.session !== null && RANK[this.session.role] >= RANK[role];
  }

  private async ask(): Promise<void> {
    try {
      this.session = await get<Session>('/session');
      this.refused = null;
      clock.set(this.session.server_time);
    } catch (cause) {
      if (cause instanceof ApiError && (cause.status === 401 || cause.status === 403)) this.refused = cause;
    }
  }
}

export const link = new Link();

/** The sentence under a control that the token does not allow. */
export function notAllowed(role: Role): string {
  if (recorded) return 'This page is a file: nothing can be done from it.';
  return `This token may only ${link.session?.role ?? 'view'}; this takes the role “${role}”.`;
}
