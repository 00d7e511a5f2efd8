import type { Command } from 'commander'
import { assertNotPaused } from '../../upstream/acquire-permit.ts'
import { takeSlot } from '../../upstream/budget/take-slot.ts'
import type { Finding, ProbedCall } from '../../upstream/probe/probe-call.ts'
import { type ProbeReport, probeUpstream } from '../../upstream/probe/probe-upstream.ts'
import { withApp } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import {
  count,
  example,
  fitOrElse,
  hangingIndent,
  labelledLines,
  printable,
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
        await takeSlot(database.db, { requestsPerSecond, lane: true, clock, signal: waiting })
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
  const ms = (value: number | null) => (value === null ? '-' : `${value} ms`)
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
