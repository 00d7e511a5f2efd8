import { Argument, type Command, Option } from 'commander'
import { JOB_QUEUES, JOB_STATES } from '../../platform/base/kinds.ts'
import { durationText } from '../../platform/base/text.ts'
import type { Item } from '../api-client.ts'
import { type Asking, ask, call, list } from '../api-command.ts'
import { confirmDeletion, YES, type YesOption } from '../confirm.ts'
import { add, type Commands, type ProgramOptions } from '../describe.ts'
import { EXIT, UsageError } from '../exit-codes.ts'
import { limitOption } from '../option-parsers.ts'
import { type Columns, countOf } from '../text/text-format.ts'

interface ChangeOptions extends YesOption, ProgramOptions {
  readonly all?: boolean
}

const COLUMNS: Columns<Item<'GET /jobs'>> = {
  id: 'id',
  queue: 'queue',
  failure: 'failure',
  payload: ({ payload }) =>
    Object.entries(payload as object)
      .map(([name, value]) => `${name}=${value}`)
      .join(', '),
  attempts: 'attempts',
  'ended, begun or added': ({ endedAt, startedAt, enqueuedAt }) =>
    endedAt ?? startedAt ?? enqueuedAt,
}

const VERBS = {
  retry: {
    about: 'Retry dead jobs with all their attempts',
    done: 'retried',
    operation: 'POST /jobs/{queue}/retry',
  },
  drop: { about: 'Delete dead jobs', done: 'dropped', operation: 'POST /jobs/{queue}/drop' },
} as const

export const COMMANDS: Commands = { jobs: addJobs, schedules: addSchedules }

function addJobs(jobs: Command): void {
  add(jobs, 'list', 'List jobs; dead ones unless --state is given', {
    examples: ['--queue verify'],
  })
    .addOption(new Option('--queue <queue>', 'list this queue; unset: all').choices(JOB_QUEUES))
    .addOption(
      new Option('--state <state>', 'the state of the jobs').choices(JOB_STATES).default('dead'),
    )
    .addOption(limitOption('jobs of each queue', 1_000))
    .action(list('GET /jobs', { columns: COLUMNS, none: 'no jobs in this state' }))
  for (const verb of ['retry', 'drop'] as const) {
    const command = add(jobs, verb, VERBS[verb].about, {
      examples: ['verify 17 18', 'route-sync --all'],
      remark: 'Exits with 1 if an id is not the id of a dead job.',
    })
      .addArgument(new Argument('<queue>', 'the queue of the jobs').choices(JOB_QUEUES))
      .argument('[ids...]', 'ids, as "jobs list" prints them')
      .option('--all', 'take every dead job of the queue')
    if (verb === 'drop') command.option(...YES)
    command.action(ask(changeJobs(verb)))
  }
}

function changeJobs(verb: keyof typeof VERBS) {
  return async (
    { api, terminal }: Asking,
    queue: string,
    ids: string[],
    options: ChangeOptions,
  ): Promise<number> => {
    const { all = false } = options
    if (all === ids.length > 0) throw new UsageError('name the jobs: either their ids, or --all')
    if (all && verb === 'drop') {
      await confirmDeletion(`all dead jobs of ${queue} are deleted`, options)
    }
    const { done, operation } = VERBS[verb]
    const asked = { params: { queue }, body: { ids: all ? null : ids } }
    const answer = await api.call(operation, asked)
    const { changed, missing } = answer
    const others = missing.map((id) => `\nno dead job of ${queue} has the id ${id}`).join('')
    terminal.print(answer, () => `${countOf(changed, 'job')} of ${queue} ${done}${others}`)
    return missing.length === 0 ? EXIT.ok : EXIT.failed
  }
}

const SCHEDULE_COLUMNS: Columns<Item<'GET /schedules'>> = {
  schedule: 'name',
  when: ({ cron, zone, everySeconds }) =>
    everySeconds === null
      ? `${cron}${zone === 'UTC' ? '' : ` ${zone}`}`
      : `every ${durationText(everySeconds * 1_000)}`,
  'due last': ({ lastDueAt }) => lastDueAt ?? 'never',
  next: 'nextDueAt',
}

function addSchedules(schedules: Command): void {
  add(schedules, 'list', 'List the job schedulers: when each was due last and is due next').action(
    list('GET /schedules', {
      columns: SCHEDULE_COLUMNS,
      none: 'no schedules yet: the first worker writes them',
    }),
  )
  add(
    schedules,
    'run',
    'Do the work of a schedule now, once; a worker starts it within five seconds',
    { examples: ['sync-routes'] },
  )
    .argument('<name>', 'as "schedules list" prints it')
    .action(
      call(
        'POST /schedules/{name}/run',
        ({ name }) => `${name} is due: a worker starts it within five seconds`,
      ),
    )
}
