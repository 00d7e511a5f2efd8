import { Argument, type Command, Option } from 'commander'
import { changeDeadJobs, QUEUES } from '../../app/queue-state.ts'
import {
  JOB_STATES,
  type JobState,
  type QueuedJob,
  type QueueSystem,
} from '../../platform/queue/queue-system.ts'
import { confirmDeletion, YES, type YesOption } from '../confirm.ts'
import { withQueue } from '../context.ts'
import { EXIT, UsageError } from '../exit-codes.ts'
import { integerOption } from '../option-parsers.ts'
import {
  agoText,
  count,
  countOf,
  example,
  labelledLines,
  pick,
  printable,
} from '../text/text-format.ts'

interface ListOptions {
  readonly queue?: string
  readonly state: JobState
  readonly limit: number
  readonly json?: boolean
}

interface ListedJob extends QueuedJob {
  readonly queue: string
  readonly state: JobState
}

interface ChangeOptions extends YesOption {
  readonly all?: boolean
  readonly json?: boolean
}

const VERBS = {
  retry: { about: 'Retry dead jobs with all their attempts', done: 'retried' },
  drop: { about: 'Delete dead jobs', done: 'dropped' },
} as const

export function addJobsCommands(program: Command): void {
  const jobs = program.command('jobs').description('List, retry and drop jobs of the queue')
  jobs
    .command('list')
    .description('List jobs; dead ones unless --state is given')
    .addOption(new Option('--queue <queue>', 'list this queue; unset: all').choices(QUEUES))
    .addOption(
      new Option('--state <state>', 'the state of the jobs').choices(JOB_STATES).default('dead'),
    )
    .option('--limit <n>', 'list at most n jobs of each queue', integerOption(1, 1_000), 20)
    .option('--json', 'print one line of JSON per job')
    .addHelpText('after', example('jobs list --queue verify'))
    .action(printJobs)
  for (const verb of ['retry', 'drop'] as const) addVerb(jobs, verb)
}

function addVerb(jobs: Command, verb: keyof typeof VERBS): void {
  const command = jobs
    .command(verb)
    .description(VERBS[verb].about)
    .addArgument(new Argument('<queue>', 'the queue of the jobs').choices(QUEUES))
    .argument('[ids...]', 'ids, as "jobs list" prints them')
    .option('--all', 'take every dead job of the queue')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExits with 2 if an id is not the id of a dead job.')
    .addHelpText('after', example(`jobs ${verb} verify 17 18`, `jobs ${verb} route-sync --all`))
  if (verb === 'drop') command.option(...YES)
  command.action((queue: string, ids: string[], options: ChangeOptions) =>
    changeJobs(verb, queue, { ids, ...options }),
  )
}

async function printJobs({ queue, state, limit, json }: ListOptions): Promise<void> {
  const queues = queue === undefined ? QUEUES : [queue]
  await withQueue('jobs', async ({ clock }, system, { terminal }) => {
    const { jobs, total } = await listJobs(system, queues, { state, limit })
    const rows = jobs.map((job) =>
      pick(
        job,
        ...(['queue', 'id', 'state', 'name', 'payload', 'attempts'] as const),
        ...(['enqueuedAt', 'startedAt', 'endedAt', 'failure'] as const),
      ),
    )
    terminal.printRows(json, rows, () => {
      if (jobs.length === 0) return state === 'dead' ? 'no dead jobs' : `no jobs are ${state}`
      const lines = jobs.map((job): [string, string] => [
        `${job.queue} ${printable(job.id)}`,
        printable(aboutText(job, clock.now())),
      ])
      const more = total - jobs.length
      const moreText = more > 0 ? `\nand ${count(more)} more: raise --limit` : ''
      return `${labelledLines(lines, terminal.width)}${moreText}`
    })
  })
}

async function listJobs(
  system: QueueSystem,
  queues: readonly string[],
  { state, limit }: Pick<ListOptions, 'state' | 'limit'>,
): Promise<{ jobs: ListedJob[]; total: number }> {
  const jobs: ListedJob[] = []
  let total = 0
  for (const queue of queues) {
    const { failed, completed, ...counts } = await system.counts(queue)
    total += { ...counts, dead: failed, done: completed }[state]
    jobs.push(...(await system.jobs(queue, state, limit)).map((job) => ({ ...job, queue, state })))
  }
  return { jobs, total }
}

/** When the job ended, started or was enqueued; its payload; its attempts; its failure. */
function aboutText(job: ListedJob, now: Date): string {
  const { payload, attempts, failure } = job
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  return [
    agoText(job.endedAt ?? job.startedAt ?? job.enqueuedAt, now),
    ...Object.entries(payload).map(([key, value]) => `${key}=${text(value)}`),
    ...(attempts === 0 ? [] : [countOf(attempts, 'attempt')]),
    ...(failure === null ? [] : [failure]),
  ].join(', ')
}

async function changeJobs(
  verb: keyof typeof VERBS,
  queue: string,
  { ids, all = false, json, yes }: ChangeOptions & { readonly ids: readonly string[] },
): Promise<void> {
  if (all === ids.length > 0) throw new UsageError('name the jobs: either their ids, or --all')
  if (all && verb === 'drop')
    await confirmDeletion(`all dead jobs of ${queue} are deleted`, { yes })
  const { done } = VERBS[verb]
  await withQueue(`jobs ${verb}`, async ({ clock }, system, { terminal, signal }) => {
    const onProgress = (n: number) => terminal.progress(`${count(n)} ${done}`)
    const { changed, missing } = await changeDeadJobs(
      { queue: system, clock, signal, onProgress },
      { name: queue, ids: all ? 'all' : ids, verb },
    )
    terminal.progress('')
    const others = missing.map((id) => `\nno dead job of ${queue} has the id ${id}`).join('')
    terminal.print(
      json,
      { queue, [done]: changed, missing },
      () => `${countOf(changed, 'job')} of ${queue} ${done}${others}`,
    )
    return missing.length === 0 ? EXIT.ok : EXIT.failed
  })
}
