import type { Clock } from '../../base/clock.ts'
import { type Skew, waitForSlot } from '../../upstream/budget/take-slot.ts'
import type { Observation } from '../../upstream/observation.ts'
import type { UpstreamClient } from '../../upstream/upstream-client.ts'
import {
  UpstreamCircuitOpenError,
  UpstreamSlotMissedError,
} from '../../upstream/upstream-errors.ts'
import type { ClaimedFare } from './claimed-fares.ts'

/** One answer, and when its request began by the database's clock. */
export interface Check {
  readonly fareId: number
  readonly askedAt: Date
  readonly observation: Observation
}

/** What has been heard since the last wave. */
export interface Wave {
  readonly checks: readonly Check[]
  /** Fares that were not asked: their slot had passed by more than a second. */
  readonly late: readonly number[]
  /** Fares that were not asked because the gate was closed, or were answered by a 429: their turn is not spent. */
  readonly held: readonly number[]
}

export interface AskDeps {
  readonly upstream: Pick<UpstreamClient, 'verifyFares'>
  readonly clock: Clock
}

export interface AskOptions extends Skew {
  readonly signal: AbortSignal
}

/** How long the answers that are there wait for those that are not. */
const PATIENCE_MS = 500

/**
 * Asks each fare at its reserved slot, and gives the answers in waves: mostly one, of them all.
 *
 * An upstream that hangs holds a call until its deadline, ten times what a batch lasts: were the others to wait
 * for it, one such answer in a hundred would keep most fares from their next turn, and the budget unspent.
 */
export async function* askFares(
  deps: AskDeps,
  fares: readonly ClaimedFare[],
  options: AskOptions,
): AsyncGenerator<Wave> {
  const heard: Heard[] = []
  const ended = new AbortController()
  const all = askInTurn(deps, fares, { ...options, heard }).finally(() => ended.abort())
  // It is awaited below; until then nobody listens.
  all.catch(() => undefined)

  let patienceMs = untilLastSlotMs(deps, fares, options) + PATIENCE_MS
  for (let left = fares.length; left > 0; ) {
    await deps.clock.sleep(patienceMs, ended.signal).catch(() => undefined)
    if (ended.signal.aborted) await all
    const wave = heard.splice(0)
    left -= wave.length
    patienceMs = PATIENCE_MS
    if (wave.length > 0) yield waveOf(wave)
  }
}

type Heard = Check | { readonly late: number } | { readonly held: number }

/**
 * One slot after the other, with one timer: hundreds of them at a time would cost more than the calls. Where the
 * gate is closed to one, those behind it need not wait for their slots to hear the same.
 */
async function askInTurn(
  { upstream, clock }: AskDeps,
  fares: readonly ClaimedFare[],
  { heard, ...options }: AskOptions & { heard: Heard[] },
): Promise<void> {
  const calls: Promise<void>[] = []
  let isClosed = false
  for (const { fareId, slotAt, question } of fares) {
    if (isClosed) {
      heard.push({ held: fareId })
      continue
    }
    const slot = await waitForSlot(slotAt, { ...options, clock })
    if (slot === undefined) {
      heard.push({ late: fareId })
      continue
    }
    const askedAt = slot.now()
    const call = upstream.verifyFares(question, { signal: options.signal, slot }).then(
      (observation) => {
        const said = { fareId, askedAt, observation }
        heard.push(isRateLimited(observation) ? { held: fareId } : said)
      },
      (err: unknown) => {
        if (err instanceof UpstreamSlotMissedError) {
          heard.push({ late: fareId })
          return
        }
        if (!(err instanceof UpstreamCircuitOpenError)) throw err
        isClosed = true
        heard.push({ held: fareId })
      },
    )
    // Where it fails, all do; it is awaited only when the last slot has come.
    call.catch(() => undefined)
    calls.push(call)
  }
  await Promise.all(calls)
}

/** A wait that was asked for is no answer about the fare, and no failure of it. */
export function isRateLimited({ outbound }: Observation): boolean {
  return outbound.kind === 'unknown' && outbound.reason === 'rate_limited'
}

/** The fares lie in the order of their slots. */
function untilLastSlotMs(
  { clock }: AskDeps,
  fares: readonly ClaimedFare[],
  { skewMs }: AskOptions,
): number {
  const last = fares.at(-1)?.slotAt.getTime() ?? 0
  return Math.max(0, last - skewMs - clock.now().getTime())
}

function waveOf(heard: readonly Heard[]): Wave {
  return {
    checks: heard.filter((one) => 'observation' in one),
    late: heard.flatMap((one) => ('late' in one ? [one.late] : [])),
    held: heard.flatMap((one) => ('held' in one ? [one.held] : [])),
  }
}
