import type { Finding, ProbedCall } from '../../upstream/probe/probe-call.ts'
import type { ProbeReport } from '../../upstream/probe/probe-upstream.ts'
import { count, table } from './text-format.ts'

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
export function probeText({ calls, skipped }: ProbeReport): string {
  const findings = calls.flatMap((call) => findingsOf(call).map((row) => [call.call, ...row]))
  const hints = skipped.map(({ call, hint }) => `not asked: ${call}; ${hint}`)
  return [
    table(CALL_COLUMNS, calls.map(rowOf)),
    table(['call', 'what', 'says'], findings),
    ...(hints.length === 0 ? [] : [hints.join('\n')]),
  ].join('\n\n')
}

function rowOf(call: ProbedCall): (string | null)[] {
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
