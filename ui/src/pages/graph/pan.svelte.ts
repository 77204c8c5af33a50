// Where the sheet of a graph stands in its window: dragged by a pointer, zoomed by the wheel, two fingers or buttons.

interface Sheet {
  width: number;
  height: number;
}

const SMALLEST = 0.15;
const LARGEST = 2;
// A press that moves less than this is a click.
const STILL = 4;

export class Pan {
  x = $state(0);
  y = $state(0);
  scale = $state(1);
  private window: Sheet = { width: 0, height: 0 };
  private touched = false;
  private pointers = new Map<number, { x: number; y: number }>();
  private moved = 0;

  /** Brings the whole sheet into sight, unless a person has moved it. Text stays readable: a wide sheet begins at its left. */
  fit(window: HTMLElement, sheet: Sheet, again = false): void {
    this.window = { width: window.clientWidth, height: window.clientHeight };
    if (this.touched && !again) return;
    this.touched = false;
    const { width, height } = this.window;
    const whole = Math.min(width / sheet.width, height / sheet.height, 1.15);
    this.scale = Math.max(again ? SMALLEST : 0.78, whole);
    const left = width - sheet.width * this.scale;
    this.x = left > 0 ? Math.min(left / 2, 60) : 0;
    const over = height - sheet.height * this.scale;
    this.y = over > 0 ? Math.min(over / 2, height * 0.18) : 0;
  }

  /** What a person looks at stays where it is. */
  keep(): void {
    this.touched = true;
  }

  zoom(by: number, at = { x: this.window.width / 2, y: this.window.height / 2 }): void {
    this.touched = true;
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * by));
    this.x = at.x - ((at.x - this.x) * scale) / this.scale;
    this.y = at.y - ((at.y - this.y) * scale) / this.scale;
    this.scale = scale;
  }

  wheel(event: WheelEvent): void {
    event.preventDefault();
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    if (event.ctrlKey || event.metaKey) {
      this.zoom(Math.exp(-event.deltaY / 250), { x: event.clientX - box.left, y: event.clientY - box.top });
      return;
    }
    this.touched = true;
    this.x -= event.shiftKey ? event.deltaY : event.deltaX;
    this.y -= event.shiftKey ? 0 : event.deltaY;
  }

  down(event: PointerEvent): void {
    this.moved = 0;
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  move(event: PointerEvent): void {
    const old = this.pointers.get(event.pointerId);
    if (!old) return;
    const [dx, dy] = [event.clientX - old.x, event.clientY - old.y];
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (this.moved < STILL) return;
    const sheet = event.currentTarget as HTMLElement;
    if (!sheet.hasPointerCapture(event.pointerId)) sheet.setPointerCapture(event.pointerId);
    this.touched = true;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const before = Math.hypot(old.x - other.x, old.y - other.y);
      const after = Math.hypot(event.clientX - other.x, event.clientY - other.y);
      const box = sheet.getBoundingClientRect();
      if (before > 0) this.zoom(after / before, { x: (event.clientX + other.x) / 2 - box.left, y: (event.clientY + other.y) / 2 - box.top });
    } else {
      this.x += dx;
      this.y += dy;
    }
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  up(event: PointerEvent): void {
    this.pointers.delete(event.pointerId);
  }
}
