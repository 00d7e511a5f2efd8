import { type Command, Option } from 'commander'
import { type DeadJobsChange, dropDeadJobs, retryDeadJobs } from '../../app/dead-jobs.ts'
import { JOB_QUEUES, QUEUES } from '../../app/queue-state.ts'
import { durationText } from '../../base/text.ts'
import {
  JOB_STATES,
  type JobState,
  type QueuedJob,
  type QueueSystem,
} from '../../queue/queue-system.ts'
import { createContext, withQueue } from '../context.ts'
import { EXIT, UsageError } from '../exit-codes.ts'
import { interruptSignal } from '../interrupt.ts'
import { integerOption } from '../option-parsers.ts'
import { besideName, count, countOf, printable, screenWidth } from '../text/text-format.ts'

interface ListOptions {
  readonly queue?: string
  readonly state: JobState
  readonly limit: number
  readonly json?: boolean
}

interface ChangeOptions {
  readonly all?: boolean
  readonly json?: boolean
}

const VERBS = {
  retry: {
    about: 'give dead jobs all their attempts anew',
    done: 'retried',
    change: retryDeadJobs,
  },
  drop: { about: 'forget dead jobs', done: 'dropped', change: dropDeadJobs },
} as const

export function addJobsCommands(program: Command): void {
  const jobs = program.command('jobs').description('the work in the queue, and what became of it')
  jobs
    .command('list')
    .description('jobs that died, or are in another state; ticks only where asked for')
    .addOption(new Option('--queue <queue>', 'of this queue alone').choices(QUEUES))
    .addOption(new Option('--state <state>', 'which ones').choices(JOB_STATES).default('dead'))
    .option('--limit <n>', 'at most so many of a queue', integerOption(1, 1_000), 20)
    .option('--json', 'one line of JSON a job')
    .addHelpText('after', '\nExample:\n  bin/farewatch jobs list --queue verify')
    .action(printJobs)
  for (const verb of ['retry', 'drop'] as const) addVerb(jobs, verb)
}

function addVerb(jobs: Command, verb: keyof typeof VERBS): void {
  jobs
    .command(verb)
    .description(`${VERBS[verb].about}: all of a queue, or single ones`)
    .argument('<queue>', `one of ${QUEUES.join(', ')}`)
    .argument('[ids...]', 'as "jobs list" shows them')
    .option('--all', 'every dead job of the queue')
    .option('--json', 'as one JSON object')
    .addHelpText(
      'after',
      `\nExamples:\n  bin/farewatch jobs ${verb} verify 17 18\n  bin/farewatch jobs ${verb} route-sync --all`,
    )
    .action(async (queue: string, ids: string[], options: ChangeOptions) => {
      process.exitCode = await changeJobs(verb, queueNamed(queue), { ids, ...options })
    })
}

function queueNamed(text: string): string {
  const found = QUEUES.find((name) => name === text)
  if (found === undefined) throw new UsageError(`there is no queue "${text}": ${QUEUES.join(', ')}`)
  return found
}

async function printJobs({ queue, state, limit, json }: ListOptions): Promise<void> {
  const context = createContext({ quiet: true })
  await withQueue(context, 'jobs', async ({ clock }, system) => {
    const listed = await listOf(system, queue === undefined ? JOB_QUEUES : [queue], {
      state,
      limit,
    })
    if (json === true) for (const job of listed.jobs) context.terminal.out(jobJson(job, state))
    else
      context.terminal.out(
        jobsText(listed, { state, width: screenWidth(process.stdout), now: clock.now() }),
      )
  })
}

async function listOf(
  system: QueueSystem,
  queues: readonly string[],
  { state, limit }: Pick<ListOptions, 'state' | 'limit'>,
): Promise<{ jobs: ListedJob[]; total: number }> {
  const jobs: ListedJob[] = []
  let total = 0
  for (const queue of queues) {
    const { failed, completed, ...counts } = await system.counts(queue)
    total += { ...counts, dead: failed, done: completed }[state]
    jobs.push(...(await system.jobs(queue, state, limit)).map((job) => ({ ...job, queue })))
  }
  return { jobs, total }
}

async function changeJobs(
  verb: keyof typeof VERBS,
  queue: string,
  { ids, all = false, json }: ChangeOptions & { readonly ids: readonly string[] },
): Promise<number> {
  if (all === ids.length > 0) throw new UsageError('say which jobs: their ids, or --all')
  const context = createContext({ quiet: true })
  const { terminal } = context
  const { change, done } = VERBS[verb]
  return withQueue(context, `jobs ${verb}`, async ({ clock }, system) => {
    const { changed, missing }: DeadJobsChange = await change(
      { queue: system, clock },
      { name: queue, ids: all ? 'all' : ids },
      {
        signal: interruptSignal(),
        onProgress: (n) => terminal.progress(`${count(n)} ${done}`),
      },
    )
    terminal.progress('')
    const others = missing.map((id) => `\nno dead job of ${queue} has the id ${id}`).join('')
    terminal.out(
      json === true
        ? JSON.stringify({ queue, [done]: changed, missing })
        : `${countOf(changed, 'job')} of ${queue} ${done}${others}`,
    )
    return missing.length === 0 ? EXIT.ok : EXIT.failed
  })
}

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
