import { Argument, type Command } from 'commander'
import { PAUSED_WORK } from '../../platform/base/kinds.ts'
import { durationText } from '../../platform/base/text.ts'
import type { Answer, Item } from '../api-client.ts'
import { type Asking, ask, call, list } from '../api-command.ts'
import { add, type Commands, help, type ProgramOptions } from '../describe.ts'
import { UsageError } from '../exit-codes.ts'
import {
  durationOption,
  integerOption,
  laterOption,
  limitOption,
  numberOption,
} from '../option-parsers.ts'
import { type Columns, count, countOf, tableText, timeText } from '../text/text-format.ts'

type Pause = Item<'GET /pauses'>

const COLUMNS: Columns<Pause> = {
  work: 'what',
  state: ({ running }) => (running ? 'PAUSED' : 'planned'),
  from: 'from',
  until: ({ until }) => until ?? 'resumed',
  by: 'by',
  reason: 'reason',
}

function workArgument(): Argument {
  return new Argument('[what...]', 'what; all of it, if none is named').choices(PAUSED_WORK)
}

interface PauseOptions {
  readonly reason: string
  readonly from?: Date
  readonly to?: Date
}

interface ResumeOptions extends ProgramOptions {
  readonly planned?: boolean
}

const workOf = (named: readonly string[]) => (named.length === 0 ? PAUSED_WORK : named)

export const COMMANDS: Commands = {
  pause: addPause,
  resume: addResume,
  audit: addAudit,
  budget: addBudget,
}

function addPause(program: Command): void {
  help(program, {
    examples: ['checks syncs --to 2h --reason "upstream maintenance"'],
    remark: `
All processes follow within seconds. What is in progress ends, and what is due
waits. A pause of the checks also stops questions on demand, one of deliveries
also tests of endpoints. "sync" and "upstream probe" still call the upstream.`,
  })
    .addArgument(workArgument())
    .requiredOption('--reason <text>', 'why; shown wherever the state is shown')
    .option(
      '--from <instant>',
      'the beginning: an instant, or 2h for a time from now; now, if unset',
      laterOption,
    )
    .option(
      '--to <instant>',
      'the end: an instant, or 2h for a time from now; "resume", if unset',
      laterOption,
    )
    .action(
      call(
        'POST /pauses',
        ({ items }, { width }) => tableText(COLUMNS, items, width),
        (what: string[], { reason, from, to: until }: PauseOptions) => ({
          what: workOf(what),
          reason,
          from,
          until,
        }),
      ),
    )
}

function addResume(program: Command): void {
  help(program, { examples: ['checks'] })
    .addArgument(workArgument())
    .option('--planned', 'also cancel pauses that have not begun')
    .action(ask(resume))
}

async function resume(
  { api, terminal }: Asking,
  what: string[],
  { planned = false }: ResumeOptions,
): Promise<void> {
  const { items } = await api.call('POST /pauses/end', { body: { what: workOf(what), planned } })
  const left = items.length > 0 || planned ? [] : (await api.call('GET /pauses')).items
  const hint = left.length > 0 ? '; "resume --planned" cancels what has not begun' : ''
  terminal.printRows(items, () =>
    items.length === 0
      ? `nothing of it is paused${hint}`
      : items.map((one) => `${one.what}: ${one.running ? 'resumed' : 'cancelled'}`).join('\n'),
  )
}

interface LimitOptions extends ProgramOptions {
  readonly to?: Date
  readonly reason?: string
  readonly off?: boolean
}

interface PlanOptions {
  readonly fares: number
  readonly delay: number
}

function addBudget(budget: Command): void {
  add(budget, 'limit', 'Limit the budget of all processes for a while', {
    examples: ['2 --to 2h --reason "upstream is slow"'],
    remark: `
Without a rate it prints the limit in force. The limit never raises the budget
above UPSTREAM_REQUESTS_PER_SECOND.`,
  })
    .addArgument(
      new Argument('[rate]', 'requests a second of all processes together').argParser(
        numberOption(0.01, 10_000),
      ),
    )
    .option(
      '--to <instant>',
      'when the limit ends: an instant, or 2h for a time from now',
      laterOption,
    )
    .option('--reason <text>', 'why; shown wherever the state is shown')
    .option('--off', 'end the limit now')
    .action(
      call(
        (rate: number | undefined, { off }: LimitOptions) => {
          if (off) return 'DELETE /budget/limit'
          return rate === undefined ? 'GET /budget/limit' : 'PUT /budget/limit'
        },
        undefined,
        limited,
      ),
    )
  add(budget, 'plan', 'Print the budget that detects 95 % of the changes within a delay', {
    examples: ['--fares 20000 --delay 5m'],
    remark: 'It also says what the present fares get, and need.',
  })
    .requiredOption('--fares <n>', 'how many fares are watched', integerOption(1, 100_000_000))
    .requiredOption('--delay <time>', 'such as 90s, 5m or 2h', durationOption(1, 30 * 86_400))
    .action(
      call('GET /budget/plan', planText, ({ fares, delay }: PlanOptions) => ({
        fares,
        delaySeconds: delay,
      })),
    )
}

function limited(rate: number | undefined, { to: until, reason, off }: LimitOptions) {
  if (rate === undefined) return {}
  if (off || until === undefined || reason === undefined) {
    throw new UsageError('a limit needs --to and --reason')
  }
  return { requestsPerSecond: rate, until, reason }
}

type BudgetPlan = Answer<'GET /budget/plan'>

function planText(plan: BudgetPlan): string {
  const { fares, p95Seconds, intervalSeconds, requestsPerSecond, present } = plan
  return [
    `${countOf(fares, 'fare')}, 95 % of the changes detected within ${short(p95Seconds)}, half within ${short(plan.p50Seconds)}:`,
    `  a check of each fare every ${short(intervalSeconds)}: ${rateText(requestsPerSecond)} requests a second`,
    `  with room for confirmations, first checks, retries and questions on demand: at most ${rateText(plan.withLanesRequestsPerSecond)}`,
    ...presentLines(present, p95Seconds),
  ].join('\n')
}

function presentLines(present: BudgetPlan['present'], delay: number): string[] {
  const { fares, requestsPerSecond, limitedUntil, delays, neededRequestsPerSecond } = present
  const limited = limitedUntil === null ? '' : `, limited until ${timeText(limitedUntil)}`
  if (delays === null) return ['No fare is watched in the database.']
  const { p50Seconds, p95Seconds } = delays
  const needed =
    neededRequestsPerSecond === null
      ? `  for 95 % within ${short(delay)} no budget suffices: their minimum intervals are longer`
      : `  for 95 % within ${short(delay)} they need ${rateText(neededRequestsPerSecond)}`
  return [
    `The ${count(fares)} fares of the database, by their turns, at ${rateText(requestsPerSecond)} requests a second${limited}:`,
    `  95 % of the changes detected within ${short(p95Seconds)}, half within ${short(p50Seconds)}`,
    needed,
  ]
}

/** Rounded up, so that the budget suffices. The last digits of a search say nothing. */
const rateText = (requestsPerSecond: number) =>
  (Math.ceil(requestsPerSecond * 100 - 1e-6) / 100).toLocaleString('en')

const MINUTE = 60
const HOUR = 60 * MINUTE

/** @example short(157.9) // '2 min 38 s' */
function short(seconds: number): string {
  const tenths = Number(seconds.toFixed(1))
  if (tenths < MINUTE) return `${tenths} s`
  if (seconds >= HOUR) return durationText(seconds * 1000)
  const whole = Math.round(seconds)
  const rest = whole % MINUTE
  return `${Math.floor(whole / MINUTE)} min${rest === 0 ? '' : ` ${rest} s`}`
}

function addAudit(program: Command): void {
  add(program, 'list', 'List what was changed through the API or the command line, newest first')
    .addOption(limitOption('changes'))
    .action(
      list('GET /audit', {
        columns: { what: 'action', target: 'target', by: 'by', at: 'at', reason: 'reason' },
        none: 'nothing was changed yet',
      }),
    )
}
