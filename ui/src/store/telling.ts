// Reads the events of tasks that work through others, and gives what they tell.

import { get, segment } from '../api/client';
import type { Stamped } from '../api/types';
import { told, type Told } from './told';

const MOST = 5_000;

export async function tell(run: string, task: string, at: number | null, signal?: AbortSignal): Promise<Told> {
  const { events } = await get<{ events: Stamped[] }>(`/runs/${segment(run)}/events`, { task, limit: MOST }, signal);
  return told(events, at);
}
