import { describe, expect, it } from 'vitest'
import { planText, reviewText } from '../../src/cli/text/sync-report-text.ts'
import { heldText, RUN_COLUMNS } from '../../src/cli/text/sync-runs-text.ts'
import { tableText } from '../../src/cli/text/text-format.ts'
import { probeText } from '../../src/cli/work/probe.ts'
import type { PlanReport } from '../../src/routes/read/plan-report.ts'
import { NO_COUNTS, type SyncRunRow } from '../../src/routes/runs.ts'
import type { ProbeReport } from '../../src/upstream/probe/probe-upstream.ts'
import { asSent } from '../support/as-sent.ts'

const AT = new Date('2026-01-31T03:12:07Z')
const REASON = {
  code: 'mass_absence',
  text: '2,000 of 34,354 routes are missing at once (5.8 %, limit 5.0 %); removals of a day would pass 25 %',
}

function aRun(changes: Partial<SyncRunRow>): SyncRunRow {
  return {
    ...NO_COUNTS,
    runId: 7,
    list: 'with-availability',
    status: 'held',
    baseline: false,
    reason: REASON,
    durationsMs: {},
    startedAt: AT,
    arrivedAt: AT,
    validAt: AT,
    finishedAt: AT,
    bytes: 1,
    ...changes,
  } as SyncRunRow
}

const RUNS = [
  aRun({ runId: 1_234 }),
  aRun({ runId: 9, status: 'unchanged', reason: null, live: 5 }),
]

const HELD_RUNS = RUNS.map((run) => ({ ...run, lists: 2, since: AT, rejectedAt: AT }))

const PLACE = { id: '1', iata: 'PMI', city: 'Palma de Mallorca', country: 'Spain' }
const PLAN = {
  list: 'routes',
  baseline: false,
  bytes: 178_000_000,
  fetched: 34_354,
  duplicates: 3,
  conflictingPlaces: 2,
  liveBefore: 36_354,
  missing: 2_000,
  newlyAbsent: 2_000,
  forecast: { added: 1, removed: 2_000, pendingAbsences: 0, placesChanged: 0, live: 34_355 },
  verdict: REASON,
  examples: {
    missing: Array.from({ length: 5 }, () => ({ departure: PLACE, destination: PLACE })),
    added: [{ departure: PLACE, destination: PLACE }],
    countries: [{ country: 'Spain', missing: 2_000, live: 20_000 }],
    placesLost: { count: 1, places: [PLACE] },
    placesChanged: [],
  },
} as unknown as PlanReport

const PROBE = {
  calls: [
    {
      call: 'routes without a token',
      documented: false,
      outcome: 'ok',
      status: 200,
      contentType: 'application/json; charset=utf-8',
      contentEncoding: null,
      bytes: 178_000_000,
      wireBytes: 12_000_000,
      headersMs: 12,
      totalMs: 345,
      headers: { 'cache-control': 'no-store, no-cache, must-revalidate, proxy-revalidate' },
      found: { 'pairs not among the routes': 3 },
    },
  ],
  skipped: [{ call: 'verify', hint: 'add --flight ID, of a flight that is known to be sold now' }],
} as unknown as ProbeReport

const TEXTS: readonly (readonly [string, (width: number) => string])[] = [
  ['runs list', (width) => tableText(RUN_COLUMNS, asSent(RUNS), width)],
  ['runs review', (width) => heldText(asSent(HELD_RUNS), width)],
  [
    'runs review RUN',
    (width) =>
      reviewText(
        asSent({ run: HELD_RUNS[0], lastAcceptedAt: AT, isLikelyReal: true, plan: PLAN }),
        width,
      ),
  ],
  ['sync --dry-run', (width) => planText({ ...PLAN, release: null }, width)],
  ['upstream probe', (width) => probeText(PROBE, width)],
]

describe.each(TEXTS)('what %s prints', (_name, text) => {
  it('fits eighty columns', () => {
    const tooLong = text(80)
      .split('\n')
      .filter((line) => line.length > 80)

    expect(tooLong).toEqual([])
  })

  it('has the same words without a width', () => {
    const whole = text(Number.POSITIVE_INFINITY)

    expect(text(1_000)).toBe(whole)
    expect(whole.split('\n').some((line) => line.length > 80)).toBe(true)
  })
})
