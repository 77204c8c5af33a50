// The server's time, once a second. Ages in the page are counted from it, so a browser with a wrong clock shows right ages.

import { recorded } from '../api/recorded';

class Clock {
  /** Microseconds since 1970 by the server's clock; in a file, when it was made. */
  now = $state(recorded?.file.made ?? Date.now() * 1_000);
  private ahead = 0;

  start(): void {
    if (recorded) return;
    setInterval(() => this.tick(), 1_000);
    document.addEventListener('visibilitychange', () => this.tick());
  }

  /** What the server said its time is. */
  set(serverTime: number): void {
    this.ahead = serverTime - Date.now() * 1_000;
    this.tick();
  }

  private tick(): void {
    if (!document.hidden) this.now = Date.now() * 1_000 + this.ahead;
  }
}

export const clock = new Clock();
