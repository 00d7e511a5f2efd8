import { LASTING } from './lies.ts'
import type { Played } from './play.ts'
import { type Counts, type Reported, WITHIN_SECONDS } from './score.ts'
import type { Cost } from './versions.ts'

interface Result extends Played, Cost {
  readonly name: string
}

/** Prints the tables of both versions, or of one. */
export function printReport(
  results: readonly Result[],
  { isListed }: { readonly isListed: boolean },
): void {
  if (new Set(results.map(({ worldHash }) => worldHash)).size > 1) {
    throw new Error('the versions have played different worlds')
  }
  console.log(`world: SHA-256 ${results[0]?.worldHash}`)
  for (const { name, checks, seconds, cpuSeconds, dropped, incidents } of results) {
    const count = sumOf(checks)
    console.log(
      `${name}: ${count} checks (${partsOf(checks)}), ${Math.round(count / seconds)} a second, ` +
        `${((1_000 * cpuSeconds) / count).toFixed(2)} s of CPU a thousand; dropped: ${partsOf(dropped) || 'none'}; ` +
        `minutes of incidents: ${partsOf(incidents) || 'none'}`,
    )
  }
  printFalse(results)
  printReported('true changes, by kind', results, ({ reported }) => reported)
  printReported('true changes, by what was wrong', results, ({ byCause }) => byCause)
  printHours('hidden although true, fare-hours', results, ({ hidden }) => hidden)
  printHours('15 min after the last answer, fare-hours', results, ({ silent }) => silent)
  if (!isListed) return
  for (const { name, score } of results) {
    console.log(`\nfalse records, ${name}:\n${score.falseList.join('\n')}`)
  }
}

type Row = readonly string[]

/** A table in Markdown, with numbers to the right. */
function printTable(head: Row, rows: readonly Row[]): void {
  const all = [head, ...rows]
  const widths = head.map((_, at) => Math.max(3, ...all.map((row) => row[at]?.length ?? 0)))
  const padded = (cell: string, at: number) =>
    at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)
  const line = (row: Row) => `| ${row.map(padded).join(' | ')} |`
  const rule = widths.map((width, at) =>
    at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  console.log(`\n${[line(head), line(rule), ...rows.map(line)].join('\n')}`)
}

function namesOf(all: readonly Readonly<Record<string, unknown>>[]): string[] {
  const names = new Set(all.flatMap((one) => Object.keys(one)))
  return [...names].toSorted((a, b) => a.localeCompare(b))
}

function sumOf(counts: Readonly<Record<string, number>> = {}): number {
  return Object.values(counts).reduce((a, b) => a + b, 0)
}

/** @example ratioOf([200, 50]) // '0.25' */
function ratioOf([before, now]: readonly number[]): string {
  if (before === undefined || now === undefined) return ''
  if (before === now) return '1.00'
  return before === 0 ? 'new' : (now / before).toFixed(2)
}

/** The parts of a count, the largest first. */
function partsOf(
  counts: Readonly<Record<string, number>> = {},
  show: (count: number) => string = String,
): string {
  const parts = Object.entries(counts).toSorted(([, a], [, b]) => b - a)
  return parts.map(([name, count]) => `${name} ${show(count)}`).join(', ')
}

function printFalse(results: readonly Result[]): void {
  const row = (name: string, of: (score: Played['score']) => number): Row => {
    const numbers = results.map(({ score, checks }) => (1e6 * of(score)) / sumOf(checks))
    return [name, ...numbers.map((n) => n.toFixed(0)), ratioOf(numbers)]
  }
  const rows = namesOf(results.map(({ score }) => score.falseRecords)).map((cause) => [
    ...row(cause, ({ falseRecords }) => sumOf(falseRecords[cause])),
    ...results.map(({ score }) => partsOf(score.falseRecords[cause])),
  ])
  const totalOf = ({ falseRecords }: Played['score'], without?: string) =>
    Object.entries(falseRecords).reduce(
      (sum, [cause, kinds]) => sum + (cause === without ? 0 : sumOf(kinds)),
      0,
    )
  const totals = [
    row('all that last less than a hold', (score) => totalOf(score, LASTING)),
    row('all', (score) => totalOf(score)),
  ]
  const names = results.map(({ name }) => name)
  const head = ['false records a million checks', ...names, 'ratio', ...names.map(recordsOf)]
  printTable(head, [...rows, ...totals.map((total) => [...total, ...names.map(() => '')])])
}

const recordsOf = (name: string) => `${name}, records`

/** A value of each version, once if they are equal. */
function bothOf(values: readonly string[]): string {
  return new Set(values).size === 1 ? (values[0] ?? '') : values.join(' → ')
}

const NOTHING: Reported = { changes: 0, within: [], held: 0 }

function printReported(
  title: string,
  results: readonly Result[],
  pick: (score: Played['score']) => Readonly<Record<string, Reported>>,
): void {
  const all = results.map(({ score }) => pick(score))
  const rows = namesOf(all).map((name) => {
    const reported = all.map((one) => one[name] ?? NOTHING)
    const shares = WITHIN_SECONDS.map((_, i) =>
      reported.map(({ changes, within }) =>
        changes === 0 ? '–' : `${((100 * (within[i] ?? 0)) / changes).toFixed(1)}`,
      ),
    )
    return [
      name,
      bothOf(reported.map(({ changes }) => String(changes))),
      ...shares.map(bothOf),
      bothOf(reported.map(({ held }) => String(held))),
    ]
  })
  const limits = WITHIN_SECONDS.map((seconds) => `% reported in ${seconds / 60} min`)
  printTable([title, 'changes', ...limits, 'shown as held'], rows)
}

function printHours(
  title: string,
  results: readonly Result[],
  pick: (score: Played['score']) => Counts,
): void {
  const all = results.map(({ score }) => pick(score))
  const hours = (seconds: number) => (seconds / 3_600).toFixed(1)
  const rows = namesOf(all).map((cause) => {
    const seconds = all.map((counts) => sumOf(counts[cause]))
    return [
      cause,
      ...seconds.map(hours),
      ratioOf(seconds),
      ...all.map((counts) => partsOf(counts[cause], hours)),
    ]
  })
  const total = all.map((counts) => Object.values(counts).reduce((sum, row) => sum + sumOf(row), 0))
  const names = results.map(({ name }) => name)
  printTable(
    [title, ...names, 'ratio', ...names.map((name) => `${name}, by reason`)],
    [...rows, ['all', ...total.map(hours), ratioOf(total), ...names.map(() => '')]],
  )
}
