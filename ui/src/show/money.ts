// Money and amounts. A cost that is not known is "unknown", never zero.

/** "$3.80"; cents of a cent where it is small; "cost unknown" is said by the caller's label. */
export function money(micros: number | null | undefined): string {
  if (micros === null || micros === undefined) return 'unknown';
  const dollars = micros / 1_000_000;
  if (dollars === 0) return '$0.00';
  if (dollars < 0.01) return `$${dollars.toFixed(4)}`;
  if (dollars >= 10_000) return `$${Math.round(dollars).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f')}`;
  return `$${dollars.toFixed(2)}`;
}

/** "12.3 k", "4.1 M". */
export function amount(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (value < 1_000) return String(Math.round(value));
  if (value < 999_500) return `${trim(value / 1_000)} k`;
  return `${trim(value / 1_000_000)} M`;
}

/** "3.2 kB". */
export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 999_500 ? `${trim(bytes / 1_000)} kB` : `${trim(bytes / 1_000_000)} MB`;
}

const trim = (value: number) => (value < 10 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value)));

/** What a person types as money: "5", "$2.50". Null where it is none. */
export function parseMoney(text: string): number | null {
  const found = /^\s*\$?\s*(\d+(?:\.\d+)?)\s*$/.exec(text);
  return found ? Math.round(Number(found[1]) * 1_000_000) : null;
}
