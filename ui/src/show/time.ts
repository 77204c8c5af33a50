// Times and lengths of time as people read them. Times come in microseconds since 1970, lengths in milliseconds.

/** "14 s", "3 m 20 s", "2 h 5 m", "3 d". Short enough for a column. */
export function length(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return '–';
  if (ms < 0) ms = 0;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return pair(minutes, 'm', seconds % 60, 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return pair(hours, 'h', minutes % 60, 'm');
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

/** Whole seconds at least, so that a figure that counts up does not flicker. */
export function age(ms: number): string {
  return ms < 1_000 ? '0 s' : ms < 60_000 ? `${Math.floor(ms / 1_000)} s` : length(ms);
}

/** One unit: "20 m", "3 h". For ages at which nothing hangs. */
export function coarse(ms: number): string {
  return age(ms).split(' ').slice(0, 2).join(' ');
}

/** A time that is left: rounded, because it is guessed. */
export function about(ms: number): string {
  if (ms < 60_000) return `${Math.max(5, Math.ceil(ms / 5_000) * 5)} s`;
  if (ms < 3_600_000) return `${Math.ceil(ms / 60_000)} m`;
  return pair(Math.floor(ms / 3_600_000), 'h', Math.ceil((ms % 3_600_000) / 600_000) * 10, 'm');
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small ? `${large} ${largeUnit} ${small} ${smallUnit}` : `${large} ${largeUnit}`;
}

/** "14:03:07" of today, "12 Nov 14:03" of another day. */
export function clock(micros: number | null | undefined, now = Date.now()): string {
  if (!micros) return '–';
  const date = new Date(micros / 1_000);
  const today = new Date(now).toDateString() === date.toDateString();
  const time = date.toTimeString().slice(0, 8);
  return today ? time : `${date.getDate()} ${MONTHS[date.getMonth()]} ${time.slice(0, 5)}`;
}

/** The same with as many decimals as moments that lie so far apart need: "14:03:07.250". */
export function clockWithin(micros: number, apart: number, now = Date.now()): string {
  const text = clock(micros, now);
  if (apart >= 1_000_000 || !/:\d\d$/.test(text) || text.length !== 8) return text;
  const decimals = apart >= 100_000 ? 1 : apart >= 10_000 ? 2 : 3;
  return `${text}.${String(Math.floor(micros / 1_000) % 1_000).padStart(3, '0').slice(0, decimals)}`;
}

/** The exact time, for titles: "2026-11-18 14:03:07.123". */
export function exact(micros: number | null | undefined): string {
  if (!micros) return '';
  const date = new Date(micros / 1_000);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
