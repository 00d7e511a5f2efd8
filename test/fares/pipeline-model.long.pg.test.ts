import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { type FareView, type StoredState, unknownView } from '../../src/fares/state.ts'
import type { AvailabilityChange, Belief } from '../../src/feeds/change-shapes.ts'
import { readAvailabilityChanges } from '../../src/feeds/operator-feed-queries.ts'
import { publicFare } from '../../src/feeds/public-fare.ts'
import type { Money } from '../../src/platform/base/money.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { it } from '../support/test-database.ts'
import { endFares } from './fare-fixtures.ts'
import { type ExpectedRecord, type ModelFare, PipelineModel } from './pipeline-model.ts'
import { departDuringBatch, playScript } from './pipeline-play.ts'
import { anyScript, QUESTIONS } from './pipeline-steps.ts'
import { clearWorld, prepareSabotage, questionOf } from './pipeline-world.ts'

/** Each takes seconds; `npm run test:interleavings` makes a hundred. */
const RUNS = Number(process.env.RUNS ?? 4)

interface HeldFare {
  readonly question: number
  readonly checks: number
  readonly view: FareView
  readonly shown: object
  readonly history: readonly { shown: object; validFrom: Date; validTo: Date | null }[]
}

async function readHeld(db: Db): Promise<HeldFare[]> {
  const { rows } = await sql<{
    flightId: string
    hasReturn: boolean
    checks: number
    state: StoredState | Record<never, never>
    shown: object
    history: { shown: object; from: string; to: string | null }[]
  }>`
    select f.flight_id as "flightId", f.return_flight_id is not null as "hasReturn", s.checks, s.state,
           jsonb_build_array(s.outbound, s.return, s.pair, s.price, s.currency) as shown,
           coalesce((select jsonb_agg(jsonb_build_object(
                              'shown', jsonb_build_array(h.outbound, h.return_leg, h.state, h.price, h.currency),
                              'from', h.valid_from, 'to', h.valid_to) order by h.valid_from)
                       from farewatch.fare_history h
                      where h.fare_id = f.id), '[]') as history
      from tracked_fare f
      join fare_state s on s.tracked_fare_id = f.id
     order by f.flight_id
  `.execute(db)
  return rows.map(({ flightId, hasReturn, checks, state, shown, history }) => ({
    question: questionOf(flightId),
    checks,
    shown,
    view: 'belief' in state ? state.belief : unknownView(hasReturn),
    history: history.map((h) => ({
      shown: h.shown,
      validFrom: new Date(h.from),
      validTo: h.to === null ? null : new Date(h.to),
    })),
  }))
}

async function readFeeds(db: Db) {
  const { rows } = await sql<{
    reseller: 'ana' | 'ben'
    seq: number
    /** Null of an event of the watch. */
    changeSeq: number | null
    head: number
    reference: string
    kind: string
    pair: string
    price: Money | null
  }>`
    select r.name as reseller, w.seq, c.seq as "changeSeq", r.last_seq as head, w.reference,
           coalesce(c.kind, e.kind) as kind, coalesce(c.after, e.after) ->> 'pair' as pair,
           coalesce(c.after, e.after) -> 'price' as price
      from watch_change w
      join reseller r on r.id = w.reseller_id
      left join availability_change c on c.id = w.change_id
      left join watch_event e on e.id = w.watch_event_id
     order by r.name, w.seq
  `.execute(db)
  return rows
}

/** A fare without the sites that an answer has first named since another reading of it: they are no change. */
function withoutFirstSites(fare: Belief, since: Belief): Belief {
  const [outbound, back] = (['outbound', 'return'] as const).map((leg) => {
    const { flight } = fare[leg] ?? { flight: null }
    const isFirst = flight !== null && since[leg]?.flight?.site === null
    return fare[leg] && { ...fare[leg], flight: isFirst ? { ...flight, site: null } : flight }
  })
  return { ...fare, outbound: outbound ?? fare.outbound, return: back ?? null }
}

/** Records of one check share before and after; every other record begins where the last one ended. */
function replay(changes: readonly AvailabilityChange[], hasReturn: boolean): Belief {
  let from = publicFare(unknownView(hasReturn))
  let to = from
  for (const { before, after } of changes) {
    const together = [before, after]
    if (JSON.stringify(together) === JSON.stringify([from, to])) continue
    expect(withoutFirstSites(before, to)).toEqual(to)
    from = before
    to = after
  }
  return to
}

function expectHistory({ history, shown }: HeldFare, fare: ModelFare): void {
  for (const [i, { validFrom, validTo }] of history.entries()) {
    const next = history[i + 1]
    expect(validTo).toEqual(next?.validFrom ?? null)
    if (next !== undefined) {
      expect(validFrom < next.validFrom).toBe(true)
      expect(next.shown).not.toEqual(history[i]?.shown)
    }
  }
  const hasChanges = fare.changes.length > 0
  expect(history.at(-1)?.shown).toEqual(hasChanges ? shown : undefined)
}

async function expectFares(db: Db, model: PipelineModel): Promise<void> {
  const feed = await readAvailabilityChanges(db, { after: 0, limit: 10_000 })
  const held = await readHeld(db)
  for (const [question, fare] of model.fares.entries()) {
    const mine = feed.filter((change) => questionOf(change.flightId) === question)
    const recorded = mine.map(({ kind, detectedAt, lastGoodCheckAt, after }) => {
      const { state: pair, price } = after
      return {
        kind,
        detectedAt: detectedAt.toISOString(),
        lastGoodCheckAt: lastGoodCheckAt?.toISOString() ?? null,
        pair,
        price,
      }
    })
    expect(recorded).toEqual(fare.changes)

    const state = held.find((one) => one.question === question)
    expect(state?.checks ?? 0).toBe(fare.checks)
    if (state === undefined) continue
    const last = replay(mine, QUESTIONS[question]?.returnFlightId !== null)
    expect(withoutFirstSites(publicFare(state.view), last)).toEqual(last)
    expectHistory(state, fare)
  }

  const { rows } = await sql<{ last_seq: number }>`
    select last_seq from feed_head where feed = 'availability'
  `.execute(db)
  expect(rows).toEqual([{ last_seq: feed.length }])
  expect(feed.map((change) => change.seq)).toEqual(feed.map((_, i) => i + 1))
}

async function expectFeeds(db: Db, model: PipelineModel): Promise<void> {
  const rows = await readFeeds(db)
  for (const reseller of ['ana', 'ben'] as const) {
    const feed = rows.filter((row) => row.reseller === reseller)
    expect(feed.map((row) => row.seq)).toEqual(feed.map((_, i) => i + 1))
    expect(feed.every((row) => row.head === feed.length)).toBe(true)
    const changeSeqs = feed.map((row) => row.changeSeq).filter((seq) => seq !== null)
    expect(changeSeqs).toEqual(changeSeqs.toSorted((a, b) => a - b))
    // The fares of one batch have no order among themselves; those of one watch do.
    for (const { reference } of model.watches) {
      const ofWatch = (all: readonly ExpectedRecord[]) =>
        all
          .filter((one) => one.reference === reference)
          .map(({ kind, pair, price }) => ({ kind, pair, price }))
      expect(ofWatch(feed)).toEqual(ofWatch(model.feeds[reseller]))
    }
  }
}

/**
 * After its departure each fare of which a flight is known has one more record: its end, and no loss. Returns how many fares
 * departed.
 */
async function expectDepartures(db: Db, model: PipelineModel): Promise<number> {
  const { rows } = await sql<{ flightId: string }>`
    select flight_id as "flightId" from fare_state join tracked_fare on id = tracked_fare_id where departs_at is not null
  `.execute(db)
  expect(await endFares(db)).toBe(rows.length)
  const feed = await readAvailabilityChanges(db, { after: 0, limit: 10_000 })
  for (const { flightId } of rows) {
    const before = model.fares[questionOf(flightId)]?.changes.length ?? 0
    const later = feed.filter((change) => change.flightId === flightId).slice(before)
    expect(later.map(({ kind, reason }) => [kind, reason])).toEqual([['expired', 'departed']])
  }
  return rows.length
}

const KINDS = ['first_seen', 'became_available', 'became_unavailable', 'price_changed']

describe('in any order of jobs, crashes and changes of watches', () => {
  it('each answer counts at most once, none after a departure, and each watch receives its start and its own changes', async ({
    db,
  }) => {
    await prepareSabotage(db)
    const seen = { counted: 0, dropped: 0, departed: 0, kinds: new Map<string, number>() }

    const hasPlayed = () =>
      seen.counted > 50 &&
      seen.dropped > 20 &&
      seen.departed > 10 &&
      KINDS.every((kind) => seen.kinds.has(kind))

    // A few worlds may lack a kind by chance. More of them are played then.
    for (let i = 0; i < 20 && !hasPlayed(); i += 1) {
      await fc.assert(
        fc.asyncProperty(anyScript, async (script) => {
          await clearWorld(db)
          const model = new PipelineModel(script.counts)

          const playing = await playScript(db, script, model)

          await expectFares(db, model)
          await expectFeeds(db, model)
          const counted = model.fares.reduce((sum, fare) => sum + fare.checks, 0)
          seen.counted += counted
          seen.dropped += playing.asked - counted
          for (const { kind } of model.fares.flatMap((fare) => fare.changes)) {
            seen.kinds.set(kind, (seen.kinds.get(kind) ?? 0) + 1)
          }
          await departDuringBatch(playing)
          seen.departed += await expectDepartures(db, model)
        }),
        // Shrinking a failure may take longer than the test may: its seed is enough to repeat it.
        { numRuns: RUNS, endOnFailure: true },
      )
    }

    // Otherwise the worlds were too empty to prove anything.
    expect(hasPlayed(), JSON.stringify({ ...seen, kinds: [...seen.kinds] })).toBe(true)
  })
})
