// How much a task needs a look: what asks and what failed first, then what runs, then the rest. Pure.

import type { TaskRow } from '../../api/types';

const RANK: Partial<Record<TaskRow['state'], number>> = { asks: 5, failed: 4, interrupted: 4, retrying: 3, running: 2, blocked: 1 };

export const isPressing = (row: TaskRow): number => RANK[row.state] ?? 0;
