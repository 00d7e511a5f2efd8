import type { Finding, ProbedCall } from '../../upstream/probe/probe-call.ts'
import type { ProbeReport } from '../../upstream/probe/probe-upstream.ts'
import { count, printable, table } from './text-format.ts'
import { besideName, besideNames, fitting } from './wrap-text.ts'

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
