import { findWatchedFlight } from '../../fares/check.ts'
import { assertNotPaused } from '../../upstream/attempt.ts'
import { takeSlot } from '../../upstream/budget/take-slot.ts'
import type { Finding, ProbedCall } from '../../upstream/probe/probe-call.ts'
import { type ProbeReport, probeUpstream } from '../../upstream/probe/probe-upstream.ts'
import { withApp } from '../context.ts'
import type { ProgramOptions } from '../describe.ts'
import { EXIT } from '../exit-codes.ts'
import { count, hangingIndent, printable, table } from '../text/text-format.ts'

interface ProbeFlags extends ProgramOptions {
  readonly flight?: string
  readonly negative?: boolean
}

export function probe(options: ProbeFlags): Promise<void> {
  const { flight, negative = false } = options
  return withApp(
    { role: 'probe', sandbox: true, options },
    async ({ config, clock, database, breaker }, context) => {
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
        flightId: flight ?? (await findWatchedFlight(database.db)),
        negative,
        signal,
      })
      terminal.print(report, () => probeText(report, terminal.width))
      return exitOf(report)
    },
  )
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
  const findings = calls.flatMap((call) =>
    findingsOf(call).map((row) => [call.call, ...row] as const),
  )
  const hints = skipped.map(({ call, hint }) =>
    hangingIndent('', printable(`not called: ${call}; ${hint}`), width),
  )
  return [
    table(CALL_COLUMNS, calls.map(rowOf), width),
    findings
      .map(([call, what, text]) => hangingIndent(`${call}  `, printable(`${what}: ${text}`), width))
      .join('\n'),
    ...(hints.length === 0 ? [] : [hints.join('\n')]),
  ].join('\n\n')
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
