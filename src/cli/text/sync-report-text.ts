import { percent } from '../../route-sync/plan/guard.ts'
import type { ListDifference } from '../../route-sync/read/diff-snapshots.ts'
import type { DryRun } from '../../route-sync/review/dry-run.ts'
import type { PlanExamples, RouteExample } from '../../route-sync/review/plan-examples.ts'
import type { PlanReport, Review } from '../../route-sync/review/report-plan.ts'
import type { Place } from '../../upstream/route-list.ts'
import { count, countOf, hangingIndent, megabytes, printable } from './text-format.ts'

/** What a sync would do with a list. */
export function planText(plan: DryRun, width = Number.POSITIVE_INFINITY): string {
  const lines = [
    `${plan.list} ${plan.baseline ? 'baseline ' : ''}${verdictText(plan)}`,
    ...planFacts(plan),
    `it would ${plan.verdict === null ? '' : 'apply nothing; approved it would '}${effectText(plan)}`,
  ]
  return factLines(lines, width)
}

function verdictText({ verdict, release }: DryRun): string {
  if (verdict !== null) return `would be held: ${verdict.text}`
  return release === null ? 'would be applied' : `would be released and applied: ${release.text}`
}

/** Why a run is held, and what each decision would do. */
export function reviewText(
  { run, heldWith, rejected, plan }: Review,
  width = Number.POSITIVE_INFINITY,
): string {
  const { runId } = run
  const others = heldWith.filter((id) => id !== runId)
  const since = (run.fetchedAt ?? run.startedAt).toISOString()
  const lines = [
    `run ${runId} of ${plan.list} is held since ${since}: ${run.reason?.text ?? 'no reason given'}`,
    ...(others.length === 0 ? [] : [line('agrees with', `held ${namesOf(others)}`)]),
    ...rejectionLines(rejected),
    ...planFacts(plan),
    ...adviceLines(
      `approve it to ${effectText(plan)}:`,
      `bin/farewatch sync approve ${runId}`,
      width,
    ),
    ...adviceLines(
      'reject it to drop it and change nothing:',
      `bin/farewatch sync reject ${runId}`,
      width,
    ),
  ]
  return factLines(lines, width)
}

function rejectionLines(rejected: Review['rejected']): NamedLine[] {
  if (rejected === null) return []
  const text = `${namesOf(rejected.runs)} of this review at ${rejected.at.toISOString()}: only an operator can release it`
  return [line('rejected', text)]
}

/** A command is not wrapped, so that it can be copied: one that does not fit gets its own line. */
function adviceLines(what: string, command: string, width: number): (string | NamedLine)[] {
  const whole = `${what}  ${command}`
  return whole.length <= width ? [whole] : [what, { name: '    ', text: command }]
}

export function namesOf(runIds: readonly number[]): string {
  return `run${runIds.length === 1 ? '' : 's'} ${runIds.join(', ')}`
}

function planFacts(plan: PlanReport): NamedLine[] {
  const { list, examples, forecast } = plan
  const fresh = list === 'routes' ? forecast.added : forecast.gained
  return [
    line('list', listFacts(plan)),
    ...(plan.missing === 0 ? [] : [line('missing', missingText(plan)), ...lostLines(examples)]),
    ...(fresh === 0 ? [] : [line('new', `${count(fresh)}: ${routesText(examples.added, fresh)}`)]),
    ...placeLines(plan),
  ]
}

function listFacts(plan: PlanReport): string {
  const { fetched, bytes, liveBefore, duplicates, conflictingPlaces, forecast } = plan
  const anomalies: [number, string][] = [
    [duplicates, 'duplicate'],
    [conflictingPlaces, 'contradicting place'],
    [forecast.unknownPairs ?? 0, 'unknown pair'],
  ]
  const known = plan.list === 'routes' ? 'live' : 'available'
  return [
    `${countOf(fetched, 'route')} in ${megabytes(bytes)}, where ${count(liveBefore)} are ${known}`,
    ...anomalies.filter(([n]) => n > 0).map(([n, noun]) => countOf(n, noun)),
  ].join('; ')
}

function missingText({ missing, newlyAbsent, liveBefore, examples }: PlanReport): string {
  const before = missing - newlyAbsent
  const pending = before === 0 ? '' : `, ${count(before)} of them in earlier lists too`
  const share = `${count(missing)} of ${count(liveBefore)} (${percent(missing / liveBefore)})${pending}`
  return `${share}: ${routesText(examples.missing, missing)}`
}

function lostLines({ countries, placesLost }: PlanExamples): NamedLine[] {
  const shares = countries.map(
    (c) => `${c.country || '(no country)'} ${count(c.missing)} of ${count(c.live)}`,
  )
  const { count: lost, places } = placesLost
  return [
    line('from', shares.join(', ')),
    ...(lost === 0
      ? []
      : [line('cut off', `${countOf(lost, 'place')}: ${listed(places.map(placeText), lost)}`)]),
  ]
}

function placeLines({ forecast, examples }: PlanReport): NamedLine[] {
  if (forecast.placesChanged === 0) return []
  const shown = examples.placesChanged.map(({ before, after }) => placeChangeText(before, after))
  return [
    line(
      'places',
      `${count(forecast.placesChanged)} changed: ${listed(shown, forecast.placesChanged, '; ')}`,
    ),
  ]
}

function effectText({ list, baseline, forecast }: PlanReport): string {
  const { added, removed, pendingAbsences, placesChanged, gained, lost, live } = forecast
  const moves =
    list === 'routes'
      ? [
          `add ${count(added)}`,
          `remove ${count(removed)}`,
          `change ${countOf(placesChanged, 'place')}`,
        ]
      : [`make ${count(gained)} available`, `take availability from ${count(lost)}`]
  const awaiting = pendingAbsences > 0 ? [`await ${countOf(pendingAbsences, 'absence')}`] : []
  const after = `${count(live)} ${list === 'routes' ? 'live' : 'available'} after`
  return `${[...moves, ...awaiting].join(', ')} (${after}${baseline ? ', the baseline' : ''})`
}

/** One difference between two lists. */
export function differenceText(difference: ListDifference): string {
  if (difference.kind === 'place_changed') {
    return printable(`~ ${placeChangeText(difference.before, difference.after)}`)
  }
  return printable(`${difference.kind === 'added' ? '+' : '-'} ${routeText(difference)}`)
}

function routesText(examples: readonly RouteExample[], total: number): string {
  return listed(examples.map(routeText), total)
}

function routeText({ departure, destination }: RouteExample): string {
  return `${placeText(departure)} → ${placeText(destination)}`
}

function placeText({ id, iata, city }: Place): string {
  return [iata || `#${id}`, city].filter(Boolean).join(' ')
}

function placeChangeText(before: Place, after: Place): string {
  const all = ({ iata, city, country }: Place) => [iata, city, country].filter(Boolean).join(' ')
  return `#${before.id} ${all(before)} is now ${all(after)}`
}

function listed(shown: readonly string[], total: number, separator = ', '): string {
  return [...shown, ...(total > shown.length ? ['…'] : [])].join(separator)
}

export interface NamedLine {
  readonly name: string
  readonly text: string
}

export function line(name: string, text: string): NamedLine {
  return { name: `  ${name.padEnd(11)} `, text }
}

/** Lines of a report: sentences, and facts with their names before them. */
export function factLines(lines: readonly (string | NamedLine)[], width: number): string {
  return lines
    .map((one) => (typeof one === 'string' ? { name: '', text: one } : one))
    .map(({ name, text }) => hangingIndent(name, printable(text), width))
    .join('\n')
}
