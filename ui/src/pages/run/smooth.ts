// A projected end that does not jump: it counts down by the clock and gives way slowly to a new projection. Pure.

// How much of the difference to a new projection is taken over each second.
const SHARE = 0.15;

export class Smooth {
  private shown: number | null = null;
  private at = 0;

  /** What to show, given the newest projection. None where there is none. */
  next(projected: number | null, now: number): number | null {
    if (projected === null) return (this.shown = null);
    if (this.shown === null) {
      this.at = now;
      return (this.shown = projected);
    }
    const passed = Math.max(0, now - this.at);
    this.at = now;
    const counted = Math.max(0, this.shown - passed);
    const share = 1 - (1 - SHARE) ** (passed / 1_000);
    this.shown = counted + (projected - counted) * share;
    return this.shown;
  }
}
