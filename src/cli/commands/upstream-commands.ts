import type { Command } from 'commander'
import { assertNotPaused } from '../../upstream/breaker/acquire-permit.ts'
import { takeSlot } from '../../upstream/budget/take-slot.ts'
import type { Finding, ProbedCall } from '../../upstream/probe/probe-call.ts'
import { type ProbeReport, probeUpstream } from '../../upstream/probe/probe-upstream.ts'
import { createContext, withApp } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { interruptSignal } from '../interrupt.ts'
import {
  besideName,
  besideNames,
  count,
  fitting,
  printable,
  screenWidth,
  table,
} from '../text/text-format.ts'

interface ProbeFlags {
  readonly flight?: string
  readonly negative?: boolean
  readonly json?: boolean
}

export function addUpstreamCommands(program: Command): void {
  program
    .command('upstream')
    .description('the upstream itself')
    .command('probe')
    .description('call each endpoint once, within the budget, and tell what its interface does not')
    .option('--flight <id>', 'a flight to verify; without one verify is not called')
    .option('--negative', 'also ask without a token, against a rule and for a flight that is none')
    .option('--json', 'as one JSON object')
    .addHelpText('after', '\nExample:\n  bin/farewatch upstream probe --flight 12345')
    .action(async (flags: ProbeFlags) => {
      process.exitCode = await probe(flags)
    })
}

async function probe({ flight, negative = false, json }: ProbeFlags): Promise<number> {
  const context = createContext({ quiet: true })
  const signal = interruptSignal()
  return withApp(context, { role: 'probe', sandbox: true }, async (app) => {
    const { config, clock, database } = app
    const requestsPerSecond = config.UPSTREAM_REQUESTS_PER_SECOND
    const report = await probeUpstream({
      baseUrl: config.UPSTREAM_BASE_URL,
      accessToken: config.UPSTREAM_ACCESS_TOKEN,
      scrub: context.scrub,
      clock,
      beforeCall: async (waiting) => {
        await assertNotPaused(app.breaker, 'probe')
        await takeSlot(database.db, { requestsPerSecond, lane: true, clock, signal: waiting })
      },
      flightId: flight ?? null,
      negative,
      signal,
    })
    context.terminal.out(
      json === true ? JSON.stringify(report) : probeText(report, screenWidth(process.stdout)),
    )
    return exitOf(report)
  })
}

/** What a negative call is answered is a finding, whatever it is. */
function exitOf({ calls }: ProbeReport): number {
  const failed = calls.some(({ documented, outcome }) => documented && outcome !== 'ok')
  return failed ? EXIT.failed : EXIT.ok
}

const CALL_COLUMNS = [
  'call',
  'outcome',
  'status',
  'content type',
  'encoding',
  'bytes',
  'sent',
  'headers',
  'whole',
]

/** A probe for people: one row a call, then one a finding, then what was not asked. */
export function probeText({ calls, skipped }: ProbeReport, width: number): string {
  const findings = calls.flatMap((call) => findingsOf(call).map((row) => [call.call, ...row]))
  const hints = skipped.map(({ call, hint }) =>
    besideName('', printable(`not asked: ${call}; ${hint}`), width),
  )
  return [
    callsText(calls.map(rowOf), width),
    findingsText(findings, width),
    ...(hints.length === 0 ? [] : [hints.join('\n')]),
  ].join('\n\n')
}

/** On a narrow screen what the columns are called stands before what they say; what says nothing is left out. */
function callsText(rows: readonly string[][], width: number): string {
  return fitting(table(CALL_COLUMNS, rows), width, () =>
    besideNames(
      rows.map(([call = '', outcome = '', ...facts]) => {
        const told = facts.flatMap((fact, i) =>
          fact === '-' ? [] : [`${CALL_COLUMNS[i + 2]} ${fact}`],
        )
        return [printable(call), printable([outcome, ...told].join(', '))]
      }),
      width,
    ),
  )
}

function findingsText(rows: readonly string[][], width: number): string {
  return fitting(table(['call', 'what', 'says'], rows), width, () =>
    besideNames(
      rows.map(([call = '', what = '', says = '']) => [
        printable(call),
        printable(`${what}: ${says}`),
      ]),
      width,
    ),
  )
}

function rowOf(call: ProbedCall): string[] {
  const ms = (value: number | null) => (value === null ? '-' : `${value} ms`)
  return [
    call.call,
    call.outcome,
    call.status === null ? '-' : String(call.status),
    call.contentType ?? '-',
    call.contentEncoding ?? '-',
    count(call.bytes),
    count(call.wireBytes),
    ms(call.headersMs),
    ms(call.totalMs),
  ]
}

function findingsOf({ headers, found }: ProbedCall): [string, string][] {
  const told = Object.entries(headers).map(([name, value]): [string, string] => [name, value])
  const silent: [string, string][] = told.length === 0 ? [['caching, rate limit', 'no header']] : []
  const rest = Object.entries(found).map(([name, value]): [string, string] => [name, say(value)])
  return [...silent, ...told, ...rest]
}

function say(value: Finding): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') return count(value)
  return typeof value === 'string' ? value : value.join(', ')
}
