import type { Db } from '../db/database.ts'
import { readPayers } from './payers.ts'
import { changesPerDay } from './policy/rate-model.ts'
import { hazardOf, recencyOf, segmentAt } from './policy/span-factors.ts'
import { memoryOf, readFares, weightFor } from './rate-fares.ts'
import { readSharedModel } from './rate-store.ts'

/** Why a fare is checked as often as it is. */
export interface FarePace {
  /** Estimated changes a day at present, factors included. */
  readonly changesPerDay: number
  /** By how much the rate is higher or lower than usual: because of the time to departure, since the last change, and of changes of its route. */
  readonly factors: {
    readonly departure: number
    readonly lastChange: number
    readonly route: number
  }
  /** Its active watches. */
  readonly weight: number
  /** The mean value of its events: a reopening counts 5, a sell-out 2, another change 1. */
  readonly eventValue: number
  readonly ticket: number
  /** The time between two checks in its turn. */
  readonly expectedIntervalSeconds: number
}

export interface ExplainArgs {
  readonly fareId: number
  readonly requestsPerSecond: number
  readonly minRecheckSeconds: number
  readonly now: Date
}

/** Reads the pace of a scheduled fare; null if it is not scheduled. */
export async function explainFare(
  db: Db,
  { fareId, requestsPerSecond, minRecheckSeconds, now }: ExplainArgs,
): Promise<FarePace | null> {
  const [model, stored] = [await readSharedModel(db), await readFares(db, [fareId])]
  const fare = stored.get(fareId)
  const payer = fare && (await readPayers(db, [fare.payer])).get(fare.payer)
  if (fare === undefined || payer === undefined) return null
  const memory = memoryOf(fare)
  const state = memory.state ?? 'available'
  const at = now.getTime() / 1_000
  const segment = segmentAt(memory, at)
  return {
    changesPerDay: changesPerDay(model, memory, { at, route: null }) * fare.surprise,
    factors: {
      departure: hazardOf(model.span, state, segment),
      lastChange: recencyOf(model.span, state, segment),
      route: fare.surprise,
    },
    weight: weightFor(fare, fare.payer),
    eventValue: memory.values[state],
    ticket: fare.ticket,
    expectedIntervalSeconds: Math.max(
      minRecheckSeconds,
      fare.minIntervalSeconds ?? 0,
      payer.tickets / (fare.ticket * payer.budgetPart * requestsPerSecond),
    ),
  }
}
