import type { NewJob } from '../queue/queue-system.ts'
import type { Schedule } from './schedule.ts'

/** With the worker's pauses, about half an hour: an outage at the slot must not cost the whole interval. */
const JOB_ATTEMPTS = 8

/** The job of one slot. Its id is the slot's, and its payload says when it was due, for the job to see that it was done. */
export function scheduledJob({ name, payload }: Schedule, dueAt: Date): NewJob {
  return {
    payload: { ...payload, dueAt: dueAt.toISOString() },
    id: `${name}@${dueAt.getTime()}`,
    attempts: JOB_ATTEMPTS,
  }
}
