import type { MadeCount, Meaning, Outcomes } from './breaker-state.ts'

/** No rule looks further back. */
const KEPT_SECONDS = 10

/** Instants are milliseconds by the database's clock. */
export interface TalliedCall {
  readonly meaning: Meaning
  readonly madeAtMs: number
  readonly nowMs: number
  readonly probe: string | null
}

/** Counts the calls of this process for one breaker until they are told. */
export interface CallTally {
  add(call: TalliedCall): void
  /** Whether any counted call failed, or was a probe. */
  readonly pressing: boolean
  readonly empty: boolean
  /** What was counted since the last time. */
  take(): Outcomes
}

const NONE: Outcomes = { counts: [], goodAtMs: null, failuresInARow: 0, fatal: false, probe: null }

export function createTally(): CallTally {
  let counts = new Map<number, Count>()
  let told = NONE
  return {
    add({ meaning, madeAtMs, nowMs, probe }) {
      const failed = meaning === 'failure' || meaning === 'fatal'
      if (failed || meaning === 'good') count(counts, { madeAtMs, nowMs, failed })
      told = {
        ...told,
        goodAtMs: meaning === 'good' ? nowMs : told.goodAtMs,
        failuresInARow: meaning === 'good' ? 0 : told.failuresInARow + (failed ? 1 : 0),
        fatal: told.fatal || meaning === 'fatal',
        probe: probe === null ? told.probe : { id: probe, meaning },
      }
    },
    get pressing() {
      return told.fatal || told.failuresInARow > 0 || told.probe !== null || hasFailed(counts)
    },
    get empty() {
      return counts.size === 0 && told.probe === null
    },
    take() {
      const outcomes = { ...told, counts: [...counts.values()] }
      counts = new Map()
      told = NONE
      return outcomes
    },
  }
}

type Count = { -readonly [field in keyof MadeCount]: MadeCount[field] }

/** What took longer counts as made then; no call's deadline is as long. */
const LONGEST_SECONDS = 255

function count(
  counts: Map<number, Count>,
  { madeAtMs, nowMs, failed }: { madeAtMs: number; nowMs: number; failed: boolean },
): void {
  const second = Math.floor(nowMs / 1000)
  const took = Math.min(LONGEST_SECONDS, Math.max(0, second - Math.floor(madeAtMs / 1000)))
  const key = second * (LONGEST_SECONDS + 1) + took
  const sum = counts.get(key)
  if (sum !== undefined) {
    sum.calls += 1
    if (failed) sum.failed += 1
    return
  }
  counts.set(key, { second, madeSecond: second - took, calls: 1, failed: failed ? 1 : 0 })
  for (const [old, { second: at }] of counts) if (at <= second - KEPT_SECONDS) counts.delete(old)
}

function hasFailed(counts: ReadonlyMap<number, { failed: number }>): boolean {
  return counts.values().some(({ failed }) => failed > 0)
}
