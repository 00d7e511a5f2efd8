import type { Command } from 'commander'
import { findData } from '../../embedded/postgres-place.ts'
import { durationText } from '../../platform/base/text.ts'
import { recordAction } from '../../platform/db/audit.ts'
import {
  budgetFor,
  type Delays,
  expectedDelays,
  planBudget,
  readFareGroups,
} from '../../schedule/budget.ts'
import { assertNotPaused } from '../../upstream/attempt.ts'
import { presentRate, readBudgetLimit } from '../../upstream/budget/budget-limit.ts'
import { takeSlot } from '../../upstream/budget/take-slot.ts'
import { acceptHabit, listHabits } from '../../upstream/flights/answer-habits.ts'
import type { Finding, ProbedCall } from '../../upstream/probe/probe-call.ts'
import { type ProbeReport, probeUpstream } from '../../upstream/probe/probe-upstream.ts'
import { createContext, withApp } from '../context.ts'
import { EXIT, UsageError } from '../exit-codes.ts'
import { durationOption, integerOption } from '../option-parsers.ts'
import type { Terminal } from '../terminal.ts'
import {
  count,
  countOf,
  example,
  fitOrElse,
  hangingIndent,
  labelledLines,
  printable,
  secondText,
  table,
} from '../text/text-format.ts'
import { addBudgetLimitCommand } from './pause-commands.ts'

interface JsonOption {
  readonly json?: boolean
}

export function addAnswersCommands(program: Command): void {
  const answers = program
    .command('answers')
    .description('List and accept what answers have that the interface does not have')
  answers
    .command('list')
    .description('List members of answers, and totals unlike their sums, the latest first')
    .option('--json', 'print one line of JSON per name')
    .addHelpText('after', example('answers list'))
    .action(printHabits)
  answers
    .command('accept <name>')
    .description('Let answers count that have it')
    .option('--undo', 'let them count only once it is usual')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
"available: false" with a member that the interface does not have counts for no
loss until most answers have had it for a day: it may say that the answer is
none. Accept it if the upstream says that it means nothing of the kind.
${example('answers accept seats')}`,
    )
    .action(accept)
}

async function printHabits({ json }: JsonOption): Promise<void> {
  await withApp({ role: 'answers' }, async ({ database: { db } }, { terminal }) => {
    const habits = await listHabits(db)
    const rows = habits.map(({ name, answers, share, isUsual, acceptedAt, ...seen }) => [
      printable(name),
      count(answers),
      `${Math.round(100 * share)} %`,
      acceptedAt === null ? (isUsual ? 'usual' : 'no') : 'accepted',
      secondText(seen.firstSeenAt),
      secondText(seen.lastSeenAt),
    ])
    terminal.printRows(json, habits, () =>
      rows.length === 0
        ? 'answers have only what the interface has'
        : table(['name', 'answers', 'share', 'counts', 'since', 'until, UTC'], rows),
    )
  })
}

async function accept(
  name: string,
  { undo = false, json }: JsonOption & { readonly undo?: boolean },
): Promise<void> {
  await withApp({ role: 'answers' }, async ({ database: { db } }, { terminal }) => {
    const habit = await acceptHabit(db, name, !undo)
    const action = undo ? 'acceptance of answers taken back' : 'answers accepted'
    await recordAction(db, { by: 'cli', action, target: name })
    terminal.print(json, habit, () =>
      undo
        ? `answers with ${printable(name)} count once it is usual`
        : `answers with ${printable(name)} count from now on`,
    )
  })
}

interface ProbeFlags {
  readonly flight?: string
  readonly negative?: boolean
  readonly json?: boolean
}

export function addUpstreamCommands(program: Command): void {
  program
    .command('upstream')
    .description('Probe the upstream')
    .command('probe')
    .description(
      'Call each endpoint of the upstream once and report what its interface leaves open',
    )
    .option('--flight <id>', 'a flight to verify; unset: verify is not called')
    .option('--negative', 'also make calls that must fail, such as verify without a token')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nEach call takes a slot of the budget. Exits with 1 if a documented call fails.',
    )
    .addHelpText('after', example('upstream probe --flight 12345'))
    .action(probe)
}

async function probe({ flight, negative = false, json }: ProbeFlags): Promise<void> {
  const needs = { role: 'probe', sandbox: true }
  await withApp(needs, async ({ config, clock, database, breaker }, context) => {
    const { terminal, scrub, signal } = context
    const requestsPerSecond = config.UPSTREAM_REQUESTS_PER_SECOND
    const report = await probeUpstream({
      baseUrl: config.UPSTREAM_BASE_URL,
      accessToken: config.UPSTREAM_ACCESS_TOKEN,
      scrub,
      clock,
      beforeCall: async (waiting) => {
        await assertNotPaused(breaker, 'probe')
        terminal.progress('waits for a slot of the budget')
        await takeSlot(database.db, { requestsPerSecond, lane: true, clock, signal: waiting })
        terminal.progress('')
      },
      flightId: flight ?? null,
      negative,
      signal,
    })
    terminal.print(json, report, () => probeText(report, terminal.width))
    return exitOf(report)
  })
}

/** A negative call cannot fail: its answer is a finding. */
function exitOf({ calls }: ProbeReport): number {
  const failed = calls.some(({ documented, outcome }) => documented && outcome !== 'ok')
  return failed ? EXIT.failed : EXIT.ok
}

const CALL_COLUMNS = ['call', 'outcome', 'status', 'content type', 'encoding', 'bytes'].concat(
  'sent',
  'headers',
  'total',
)

/** The calls, one row each; their findings; the calls that were not made. */
export function probeText({ calls, skipped }: ProbeReport, width: number): string {
  const findings = calls.flatMap((call) => findingsOf(call).map((row) => [call.call, ...row]))
  const hints = skipped.map(({ call, hint }) =>
    hangingIndent('', printable(`not called: ${call}; ${hint}`), width),
  )
  return [
    callsText(calls.map(rowOf), width),
    findingsText(findings, width),
    ...(hints.length === 0 ? [] : [hints.join('\n')]),
  ].join('\n\n')
}

/** The narrow form names each value and leaves out missing ones. */
function callsText(rows: readonly string[][], width: number): string {
  return fitOrElse(table(CALL_COLUMNS, rows), width, () =>
    labelledLines(
      rows.map(([call = '', outcome = '', ...facts]) => {
        const named = facts.flatMap((fact, i) =>
          fact === '-' ? [] : [`${CALL_COLUMNS[i + 2]} ${fact}`],
        )
        return [printable(call), printable([outcome, ...named].join(', '))]
      }),
      width,
    ),
  )
}

function findingsText(rows: readonly string[][], width: number): string {
  return fitOrElse(table(['call', 'what', 'finding'], rows), width, () =>
    labelledLines(
      rows.map(([call = '', what = '', text = '']) => [
        printable(call),
        printable(`${what}: ${text}`),
      ]),
      width,
    ),
  )
}

function rowOf(call: ProbedCall): string[] {
  const ms = (value: number | null) => (typeof value === 'number' ? `${value} ms` : '-')
  return [
    call.call,
    call.outcome,
    String(call.status ?? '-'),
    call.contentType ?? '-',
    call.contentEncoding ?? '-',
    count(call.bytes),
    count(call.wireBytes),
    ms(call.headersMs),
    ms(call.totalMs),
  ]
}

function findingsOf({ headers, found }: ProbedCall): [string, string][] {
  const known = Object.entries(headers)
  const none: [string, string][] = known.length === 0 ? [['caching, rate limit', 'no header']] : []
  const rest = Object.entries(found).map(([name, value]): [string, string] => [
    name,
    findingText(value),
  ])
  return [...none, ...known, ...rest]
}

function findingText(value: Finding): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') return count(value)
  return typeof value === 'string' ? value : value.join(', ')
}

interface PlanOptions {
  readonly fares: number
  readonly delay: number
  readonly json?: boolean
}

/** What the fares of the database get, and would need. */
interface PresentPlan {
  readonly fares: number
  /** By the setting, or by an operator's limit, which ends then. */
  readonly requestsPerSecond: number
  readonly limitedUntil: Date | null
  /** Null if no change is expected. */
  readonly delays: Delays | null
  /** The least budget for the delay. Null if none suffices. */
  readonly neededRequestsPerSecond: number | null
}

export function addBudgetCommand(program: Command): void {
  const budget = program
    .command('budget')
    .description('Choose the budget of upstream requests, and limit it for a while')
  addBudgetLimitCommand(budget)
  budget
    .command('plan')
    .description('Print the budget that detects 95 % of the changes within a delay')
    .requiredOption('--fares <n>', 'how many fares are watched', integerOption(1, 100_000_000))
    .requiredOption('--delay <time>', 'such as 90s, 5m or 2h', durationOption(1, 30 * 86_400))
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nReads the database, if there is one, to say what its fares get.')
    .addHelpText('after', example('budget plan --fares 20000 --delay 5m'))
    .action(printPlan)
}

async function printPlan({ fares, delay, json }: PlanOptions): Promise<void> {
  const { config, terminal } = createContext({ quiet: true })
  const { MIN_INTERVAL_SECONDS: least } = config
  const plan = planBudget({ fares, delaySeconds: delay })
  if (plan.intervalSeconds < least) {
    throw new UsageError(
      `MIN_INTERVAL_SECONDS is ${least}: no fare is checked sooner, so 95 % of the changes are detected within ${Math.ceil(0.95 * least)} s at best, not ${delay} s`,
    )
  }
  const print = (present: PresentPlan | null, { print: write }: Pick<Terminal, 'print'>) =>
    write(json, { fares, delaySeconds: delay, ...plan, present }, () =>
      planText({ fares, delay, plan, present }),
    )
  const { DATABASE_URL, FAREWATCH_HOME: home } = config
  if (DATABASE_URL === undefined && (await findData(home)) === undefined) {
    print(null, terminal)
    return
  }
  await withApp({ role: 'budget' }, async ({ database: { db } }, context) => {
    const groups = await readFareGroups(db, least)
    const setting = context.config.UPSTREAM_REQUESTS_PER_SECOND
    const limit = await readBudgetLimit(db)
    const requestsPerSecond = presentRate(setting, limit)
    const present = {
      fares: groups.reduce((sum, group) => sum + group.fares, 0),
      requestsPerSecond,
      delays: expectedDelays(groups, requestsPerSecond),
      neededRequestsPerSecond: budgetFor(groups, delay),
    }
    print({ ...present, limitedUntil: limit?.until ?? null }, context.terminal)
  })
}

interface PlanTextArgs {
  readonly fares: number
  readonly delay: number
  readonly plan: ReturnType<typeof planBudget>
  readonly present: PresentPlan | null
}

function planText({ fares, delay, plan, present }: PlanTextArgs): string {
  const { intervalSeconds, requestsPerSecond, withLanesRequestsPerSecond } = plan
  return [
    `${countOf(fares, 'fare')}, 95 % of the changes detected within ${short(delay)}, half within ${short(plan.p50Seconds)}:`,
    `  a check of each fare every ${short(intervalSeconds)}: ${rate(requestsPerSecond)} requests a second`,
    `  with room for confirmations, first checks, retries and questions on demand: at most ${rate(withLanesRequestsPerSecond)}`,
    ...presentLines(present, delay),
  ].join('\n')
}

function presentLines(present: PresentPlan | null, delay: number): string[] {
  if (present === null) return ['There is no database yet, so this counts every fare alike.']
  const { fares, requestsPerSecond, limitedUntil, delays, neededRequestsPerSecond } = present
  const limited = limitedUntil === null ? '' : `, limited until ${secondText(limitedUntil)} UTC`
  if (delays === null) return ['No fare is watched in the database.']
  const { p50Seconds, p95Seconds } = delays
  const needed =
    neededRequestsPerSecond === null
      ? `  for 95 % within ${short(delay)} no budget suffices: their minimum intervals are longer`
      : `  for 95 % within ${short(delay)} they need ${rate(neededRequestsPerSecond)}`
  return [
    `The ${count(fares)} fares of the database, by their turns, at ${rate(requestsPerSecond)} requests a second${limited}:`,
    `  95 % of the changes detected within ${short(p95Seconds)}, half within ${short(p50Seconds)}`,
    needed,
  ]
}

/** Rounded up, so that the budget suffices. The last digits of a search say nothing. */
const rate = (requestsPerSecond: number) =>
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
