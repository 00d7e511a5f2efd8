import { percent } from '../../routes/guard.ts'
import type { ListDifference } from '../../routes/read/diff-snapshots.ts'
import type { DryRun } from '../../routes/read/plan-report.ts'
import type { Place } from '../../upstream/route-list.ts'
import type { Answer } from '../api-client.ts'
import {
  count,
  countOf,
  hangingIndent,
  megabytes,
  present,
  printable,
  timeText,
} from './text-format.ts'

type PlanReport = Answer<'GET /held-runs/{runId}'>['plan']
type PlanExamples = PlanReport['examples']
type RouteExample = PlanExamples['missing'][number]

/** A line of a report: a label and its text, or a sentence without a label. */
export type Fact = readonly [label: string, text: string]

export function factsText(facts: readonly Fact[], width: number): string {
  return facts
    .map(([label, text]) => [label === '' ? '' : `  ${label.padEnd(11)} `, text] as const)
    .map(([label, text]) => hangingIndent(label, printable(text), width))
    .join('\n')
}

/** What a sync would do with a list. */
export function planText(plan: DryRun, width = Number.POSITIVE_INFINITY): string {
  const { list, baseline, verdict } = plan
  const effect = `${verdict === null ? '' : 'apply nothing; approved it would '}${effectText(plan)}`
  return factsText(
    [
      ['', `${list} ${baseline ? 'baseline ' : ''}${verdictText(plan)}`],
      ...planFacts(plan),
      ['', `it would ${effect}`],
    ],
    width,
  )
}

function verdictText({ verdict, release }: DryRun): string {
  if (verdict !== null) return `would be held: ${verdict.text}`
  return release === null ? 'would be applied' : `would be released and applied: ${release.text}`
}

/** Why a run is held, and what each decision would do. */
export function reviewText(
  { run, lastAcceptedAt, isLikelyReal, plan }: Answer<'GET /held-runs/{runId}'>,
  width = Number.POSITIVE_INFINITY,
): string {
  const { runId, reason, lists, since, rejectedAt } = run
  const head = `run ${runId} of ${plan.list} is held since ${timeText(since)}: ${reason?.text ?? 'no reason given'}`
  const rejection = `at ${timeText(rejectedAt ?? 0)}: only an operator can release such a list`
  const cause = `the last accepted list is of ${timeText(lastAcceptedAt ?? 0)}: what changed since then, so that this list is likely real`
  const facts = present<Fact>(
    ['', head],
    lists > 1 && ['agreement', `${lists} lists in a row agree`],
    rejectedAt !== null && ['rejected', rejection],
    isLikelyReal && ['cause', cause],
    ...planFacts(plan),
    ...adviceFacts(
      `approve it to ${effectText(plan)} from now on, without a second list:`,
      `runs approve ${runId}`,
      width,
    ),
    ...adviceFacts('reject it to drop it and change nothing:', `runs reject ${runId}`, width),
  )
  return factsText(facts, width)
}

/** A command is not wrapped, so that it can be copied: one that does not fit gets its own line. */
function adviceFacts(what: string, args: string, width: number): Fact[] {
  const command = `bin/farewatch ${args}`
  const whole = `${what}  ${command}`
  if (whole.length <= width) return [['', whole]]
  return [
    ['', what],
    ['', `    ${command}`],
  ]
}

function planFacts(plan: PlanReport): Fact[] {
  const { list, examples, forecast, missing } = plan
  const fresh = list === 'routes' ? forecast.added : forecast.gained
  const { placesChanged } = forecast
  const changed = examples.placesChanged.map(({ before, after }) => placeChangeText(before, after))
  return present<Fact>(
    ['list', listText(plan)],
    missing > 0 && ['missing', missingText(plan)],
    ...(missing > 0 ? lossFacts(examples) : []),
    fresh > 0 && ['new', `${count(fresh)}: ${routesText(examples.added, fresh)}`],
    placesChanged > 0 && [
      'places',
      `${count(placesChanged)} changed: ${listed(changed, placesChanged, '; ')}`,
    ],
  )
}

function listText(plan: PlanReport): string {
  const { fetched, bytes, liveBefore, duplicates, conflictingPlaces, forecast } = plan
  const anomalies: [number, string][] = [
    [duplicates, 'duplicate'],
    [conflictingPlaces, 'contradicting place'],
    [forecast.unknownPairs ?? 0, 'unknown pair'],
  ]
  const state = plan.list === 'routes' ? 'live' : 'available'
  return [
    `${countOf(fetched, 'route')} in ${megabytes(bytes)}; ${count(liveBefore)} are ${state} now`,
    ...anomalies.filter(([n]) => n > 0).map(([n, noun]) => countOf(n, noun)),
  ].join('; ')
}

function missingText({ missing, newlyAbsent, liveBefore, examples }: PlanReport): string {
  const before = missing - newlyAbsent
  const pending = before === 0 ? '' : `, ${count(before)} of them in earlier lists too`
  const share = `${count(missing)} of ${count(liveBefore)} (${percent(missing / liveBefore)})${pending}`
  return `${share}: ${routesText(examples.missing, missing)}`
}

function lossFacts({ countries, placesLost }: PlanExamples): Fact[] {
  const shares = countries.map(
    (c) => `${c.country || '(no country)'} ${count(c.missing)} of ${count(c.live)}`,
  )
  const { count: lost, places } = placesLost
  const text = `${countOf(lost, 'place')}: ${listed(places.map(placeText), lost)}`
  return present<Fact>(['by country', shares.join(', ')], lost > 0 && ['lost places', text])
}

function effectText({ list, baseline, forecast }: PlanReport): string {
  const { added, removed, pendingAbsences, placesChanged, gained, lost, live } = forecast
  const moves =
    list === 'routes'
      ? `add ${count(added)}, remove ${count(removed)}, change ${countOf(placesChanged, 'place')}`
      : `add availability to ${count(gained)}, remove it from ${count(lost)}`
  const pending =
    pendingAbsences > 0 ? `, leave ${countOf(pendingAbsences, 'absence')} pending` : ''
  const state = list === 'routes' ? 'live' : 'available'
  return `${moves}${pending} (${count(live)} ${state} after${baseline ? ', the baseline' : ''})`
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
  return present(...shown, total > shown.length && '…').join(separator)
}
