import { durationText } from '../../base/duration-text.ts'
import type { JobState, QueuedJob } from '../../queue/queue-system.ts'
import { count, printable } from './text-format.ts'
import { besideName } from './wrap-text.ts'

export interface ListedJob extends QueuedJob {
  readonly queue: string
}

const NONE: Readonly<Record<JobState, string>> = {
  dead: 'no dead jobs',
  active: 'nothing runs',
  waiting: 'nothing waits',
  delayed: 'nothing is delayed',
  done: 'nothing was done yet',
}

/** Each job on a line of its own: queue and id as the other commands take them, when, and what it was about. */
export function jobsText(
  { jobs, total }: { readonly jobs: readonly ListedJob[]; readonly total: number },
  { state, width, now }: { state: JobState; width: number; now: Date },
): string {
  if (jobs.length === 0) return NONE[state]
  const handles = jobs.map(({ queue, id }) => `${queue} ${printable(id)}`)
  const widest = Math.max(...handles.map((handle) => handle.length))
  const lines = jobs.map((job, i) => {
    const name = `${(handles[i] ?? '').padEnd(widest)}  `
    return besideName(name, printable(aboutText(job, now)), width)
  })
  const rest = total - jobs.length
  return [...lines, ...(rest > 0 ? [`and ${count(rest)} more: --limit shows them`] : [])].join('\n')
}

function aboutText(job: ListedJob, now: Date): string {
  const { payload, attempts, failure, endedAt, startedAt, enqueuedAt } = job
  const at = endedAt ?? startedAt ?? enqueuedAt
  const since = `${durationText(now.getTime() - at.getTime())} ago`
  const what = Object.entries(payload).map(([key, value]) => `${key}=${textOf(value)}`)
  const tried = attempts === 0 ? [] : [`${attempts} attempt${attempts === 1 ? '' : 's'}`]
  return [since, ...what, ...tried, ...(failure === null ? [] : [failure])].join(', ')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The line of `jobs list --json`. */
export function jobJson(job: ListedJob, state: JobState): string {
  const { queue, id, name, payload, attempts, enqueuedAt, startedAt, endedAt, failure } = job
  return JSON.stringify({
    queue,
    id,
    state,
    name,
    payload,
    attempts,
    enqueuedAt,
    startedAt,
    endedAt,
    failure,
  })
}
