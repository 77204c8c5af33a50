// Amounts of a limit as people read and type them: money in dollars, everything else as a number. Pure.

import type { Limit } from '../../api/types';
import { amount, money, parseMoney } from '../../show/money';
import { count } from '../../show/state';

type Unit = Pick<Limit, 'unit'>;

/** An amount of a limit. */
export function shown({ unit }: Unit, value: number): string {
  if (unit === 'usd_micros') return money(value);
  return unit === 'tokens' ? amount(value) : count(value);
}

/** An amount as it stands in a field. */
export const typed = ({ unit }: Unit, value: number): string => (unit === 'usd_micros' ? String(value / 1_000_000) : String(value));

/** What a person typed; null where it is no amount of this limit. */
export function parsed({ unit }: Unit, text: string): number | null {
  if (unit === 'usd_micros') return parseMoney(text);
  return /^\d+$/.test(text.trim()) ? Number(text) : null;
}
