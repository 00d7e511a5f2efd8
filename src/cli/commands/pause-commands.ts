import { Argument, type Command } from 'commander'
import { pauseText } from '../../app/state-text.ts'
import { PAUSED_WORK, type PausedWork } from '../../platform/base/kinds.ts'
import { listActions } from '../../platform/db/audit.ts'
import { addPause, endPauses, listPauses } from '../../platform/db/pauses.ts'
import { endBudgetLimit, limitBudget, readBudgetLimit } from '../../upstream/budget/budget-limit.ts'
import { withApp } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { integerOption, laterOption, numberOption } from '../option-parsers.ts'
import { example, secondText, table } from '../text/text-format.ts'

/** Who changes something from the command line. */
const BY = 'cli'
const MOST_REASON_CHARS = 200

interface JsonOption {
  readonly json?: boolean
}

interface PauseOptions extends JsonOption {
  readonly reason: string
  readonly from?: Date
  readonly to?: Date
}

function workArgument(): Argument {
  return new Argument('[what...]', 'what; all of it, if none is named').choices(PAUSED_WORK)
}

export function addPauseCommands(program: Command): void {
  program
    .command('pause')
    .addArgument(workArgument())
    .description('Pause checks, syncs or deliveries, now or at a planned time')
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
    .option('--json', 'print one line of JSON per pause')
    .addHelpText(
      'after',
      `
All processes follow within seconds. What is in progress ends, and what is due
waits. A pause of the checks also stops questions on demand, one of deliveries
also tests of endpoints. "sync" and "upstream probe" still call the upstream.
${example('pause checks syncs --to 2h --reason "upstream maintenance"')}`,
    )
    .action(pause)
  program
    .command('resume')
    .addArgument(workArgument())
    .description('End the running pauses')
    .option('--planned', 'also cancel pauses that have not begun')
    .option('--json', 'print one line of JSON per ended pause')
    .addHelpText('after', example('resume checks'))
    .action(resume)
}

async function pause(what: PausedWork[], { json, ...options }: PauseOptions): Promise<void> {
  const { from, to: until, reason } = options
  assertReason(reason)
  await withApp({ role: 'pause' }, async ({ database: { db }, clock }, { terminal }) => {
    assertFuture('--to', until, clock.now())
    if (until !== undefined && from !== undefined && until <= from) {
      throw new UsageError('--to must be after --from')
    }
    const made = await addPause(db, { what: workOf(what), from, until, reason, by: BY })
    terminal.printRows(json, made, () => made.map((one) => pauseText(one, clock.now())).join('\n'))
  })
}

async function resume(
  what: PausedWork[],
  { planned = false, json }: JsonOption & { readonly planned?: boolean },
): Promise<void> {
  await withApp({ role: 'resume' }, async ({ database: { db } }, { terminal }) => {
    const ended = await endPauses(db, { what: workOf(what), planned, by: BY })
    const left = ended.length > 0 || planned ? [] : await listPauses(db)
    const hint = left.length > 0 ? '; "resume --planned" cancels what has not begun' : ''
    terminal.printRows(json, ended, () =>
      ended.length === 0
        ? `nothing of it is paused${hint}`
        : ended.map((one) => `${one.what}: ${one.running ? 'resumed' : 'cancelled'}`).join('\n'),
    )
  })
}

function workOf(named: readonly PausedWork[]): readonly PausedWork[] {
  return named.length === 0 ? PAUSED_WORK : [...new Set(named)]
}

function assertReason(reason: string): void {
  if (reason.trim() === '' || reason.length > MOST_REASON_CHARS) {
    throw new UsageError(`--reason must have from 1 to ${MOST_REASON_CHARS} characters`)
  }
}

function assertFuture(option: string, instant: Date | undefined, now: Date): void {
  if (instant !== undefined && instant <= now) {
    throw new UsageError(`${option} has passed: it is ${secondText(now)} UTC`)
  }
}

interface LimitOptions extends JsonOption {
  readonly to?: Date
  readonly reason?: string
  readonly off?: boolean
}

export function addBudgetLimitCommand(budget: Command): void {
  budget
    .command('limit')
    .addArgument(
      new Argument('[rate]', 'requests a second of all processes together').argParser(
        numberOption(0.01, 10_000),
      ),
    )
    .description('Limit the budget of all processes for a while')
    .option(
      '--to <instant>',
      'when the limit ends: an instant, or 2h for a time from now',
      laterOption,
    )
    .option('--reason <text>', 'why; shown wherever the state is shown')
    .option('--off', 'end the limit now')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Without a rate it prints the limit in force. The limit never raises the budget
above UPSTREAM_REQUESTS_PER_SECOND.
${example('budget limit 2 --to 2h --reason "upstream is slow"')}`,
    )
    .action(limit)
}

async function limit(rate: number | undefined, options: LimitOptions): Promise<void> {
  const { to: until, reason, off = false, json } = options
  if (rate !== undefined && (off || until === undefined || reason === undefined)) {
    throw new UsageError('a limit needs --to and --reason')
  }
  await withApp({ role: 'budget' }, async ({ database: { db }, clock, config }, { terminal }) => {
    const setting = config.UPSTREAM_REQUESTS_PER_SECOND
    if (off) await endBudgetLimit(db, BY)
    if (rate !== undefined && until !== undefined && reason !== undefined) {
      assertReason(reason)
      assertFuture('--to', until, clock.now())
      if (rate >= setting) {
        throw new UsageError(`the budget is ${setting} requests a second: a limit must be below it`)
      }
      await limitBudget(db, { requestsPerSecond: rate, until, reason, by: BY })
    }
    const found = (await readBudgetLimit(db)) ?? null
    terminal.print(json, { requestsPerSecond: setting, limit: found }, () =>
      found === null
        ? `no limit: ${setting} requests a second`
        : `${found.requestsPerSecond} of ${setting} requests a second until ${secondText(found.until)} UTC: ${found.reason} (${found.by})`,
    )
  })
}

interface AuditOptions extends JsonOption {
  readonly limit: number
}

export function addAuditCommand(program: Command): void {
  program
    .command('audit')
    .description('Show what operators changed')
    .command('list')
    .description('List what was changed through the API or the command line, newest first')
    .option('--limit <n>', 'list at most n changes', integerOption(1, 10_000), 20)
    .option('--json', 'print one line of JSON per change')
    .addHelpText('after', example('audit list'))
    .action(async ({ limit: most, json }: AuditOptions) => {
      await withApp({ role: 'audit' }, async ({ database: { db } }, { terminal }) => {
        const entries = await listActions(db, { limit: most })
        const rows = entries.map(({ at, by, action, target, reason }) => [
          secondText(at),
          by,
          action,
          target ?? '-',
          reason ?? '-',
        ])
        terminal.printRows(json, entries, () =>
          rows.length === 0
            ? 'nothing was changed yet'
            : table(['at, UTC', 'by', 'what', 'target', 'reason'], rows),
        )
      })
    })
}
