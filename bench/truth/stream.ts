/**
 * Records one stream of answers with two versions of the product, a commit before and this one, and prints every record
 * that differs, by its cause. No version decides what is asked, so what differs is its decision.
 *
 *   node bench/truth/stream.ts FILE [--before COMMIT] [--rate N] [--min-recheck N] [--hold-minutes N]
 *
 * `npm run bench:truth -- … --stream FILE` makes a stream.
 */

import { parseArgs } from 'node:util'
import type { FareView, LegView } from '../../src/fares/state.ts'
import type { Replayed, ReplayedRecord } from './replay.ts'
import { readStream } from './stream-file.ts'
import { BEFORE, checkOut, runIn } from './versions.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    before: { type: 'string', default: BEFORE },
    rate: { type: 'string', default: '20' },
    'min-recheck': { type: 'string', default: '60' },
    'hold-minutes': { type: 'string', default: '10' },
  },
})
const [stream = ''] = positionals

/** A record that only one version has, or both at different times. */
interface Difference {
  readonly group: string
  readonly fare: number
  readonly lines: readonly string[]
}

const legsOf = ({ outbound, return: back }: FareView): LegView[] =>
  back === null ? [outbound] : [outbound, back]

/** What a view shows, whatever else a version stores with it. */
function shownOf(view: FareView): string {
  const legs = legsOf(view).map(({ belief, identity, itinerary, price }) =>
    [belief, identity, itinerary, price?.amount, price?.currency].join(' '),
  )
  return [view.pair, ...legs].join('; ')
}

/** Versions name the first that is known of a fare differently. */
function kindOf({ kind, before }: ReplayedRecord): string {
  return before.pair === 'unknown' ? 'first seen' : kind
}

const keyOf = (record: ReplayedRecord) => `${kindOf(record)}: ${shownOf(record.after)}`

/** The longest common subsequence of the records of a fare: pairs of what both have, and what one has. */
function aligned(
  before: readonly ReplayedRecord[],
  now: readonly ReplayedRecord[],
): (readonly [ReplayedRecord | undefined, ReplayedRecord | undefined])[] {
  const [was, is] = [before[0], now[0]]
  if (was === undefined || is === undefined) {
    return [
      ...before.map((one) => [one, undefined] as const),
      ...now.map((one) => [undefined, one] as const),
    ]
  }
  if (keyOf(was) === keyOf(is)) return [[was, is], ...aligned(before.slice(1), now.slice(1))]
  const nextWas = before.findIndex((one) => keyOf(one) === keyOf(is))
  const nextIs = now.findIndex((one) => keyOf(one) === keyOf(was))
  if (nextIs === -1 || (nextWas !== -1 && nextWas < nextIs)) {
    return [[was, undefined], ...aligned(before.slice(1), now)]
  }
  return [[undefined, is], ...aligned(before, now.slice(1))]
}

function lineOf(name: string, { kind, before, after, ...times }: ReplayedRecord): string {
  const at = (ms: number | null) => (ms === null ? '' : new Date(ms).toISOString().slice(11, 19))
  const price = (view: FareView) => `${view.pair} ${view.price?.amount ?? ''}`.trim()
  const held = times.heldMs === null ? '' : `, held since ${at(times.heldMs)}`
  return (
    `  ${name}: ${kind}, ${price(before)} -> ${price(after)}, since ${at(times.detectedMs)}, ` +
    `at ${at(times.recordedMs)}${held}`
  )
}

/** What was wrong with the upstream when a fare was asked last before an instant. */
type CauseOf = (fare: number, atMs: number) => string

function differenceOf(
  was: ReplayedRecord | undefined,
  is: ReplayedRecord | undefined,
  causeOf: CauseOf,
): Difference[] {
  const one = is ?? was
  if (one === undefined) return []
  const laterMs = was && is ? is.recordedMs - was.recordedMs : undefined
  if (laterMs === 0 && was?.detectedMs === is?.detectedMs) return []
  const what =
    laterMs === undefined
      ? `only ${is === undefined ? 'before' : 'now'}`
      : laterMs === 0
        ? 'another first answer'
        : laterMs > 0
          ? 'later'
          : 'earlier'
  const lines = [...(was ? [lineOf('before', was)] : []), ...(is ? [lineOf('now', is)] : [])]
  const { fare, detectedMs } = one
  return [{ group: `${what}: ${kindOf(one)} (${causeOf(fare, detectedMs)})`, fare, lines }]
}

async function readCauses(): Promise<CauseOf> {
  const causes = new Map<number, { atMs: number; cause: string }[]>()
  for await (const { fare, atMs, cause = 'unknown' } of readStream(stream)) {
    const known = causes.get(fare) ?? []
    causes.set(fare, known)
    if (known.at(-1)?.cause !== cause) known.push({ atMs, cause })
  }
  return (fare, at) => causes.get(fare)?.findLast(({ atMs }) => atMs <= at)?.cause ?? 'unknown'
}

const settings = {
  UPSTREAM_REQUESTS_PER_SECOND: Number(values.rate),
  MIN_INTERVAL_SECONDS: Number(values['min-recheck']),
  MASS_HOLD_MINUTES: Number(values['hold-minutes']),
}
const { versions, remove } = await checkOut(values.before)
try {
  const [before, now] = await Promise.all(
    versions.map((version) => runIn<Replayed>(version, 'replay.ts', { stream, settings })),
  )
  if (before === undefined || now === undefined) throw new Error('two versions are compared')
  const causeOf = await readCauses()
  const byFare = (all: Replayed) => Map.groupBy(all.records, ({ fare }) => fare)
  const [ofBefore, ofNow] = [byFare(before), byFare(now)]
  const fares = [...new Set([...ofBefore.keys(), ...ofNow.keys()])].toSorted((a, b) => a - b)
  const differences = fares.flatMap((fare) =>
    aligned(ofBefore.get(fare) ?? [], ofNow.get(fare) ?? []).flatMap(([was, is]) =>
      differenceOf(was, is, causeOf),
    ),
  )
  console.log(
    `${now.answers} answers; records: before ${before.records.length}, now ${now.records.length}; ` +
      `${differences.length} differ`,
  )
  const groups = [...Map.groupBy(differences, ({ group }) => group)].toSorted(
    ([, a], [, b]) => b.length - a.length,
  )
  for (const [group, all] of groups) console.log(`${String(all.length).padStart(6)} ${group}`)
  for (const [group, all] of groups) {
    console.log(`\n${group}`)
    for (const { fare, lines } of all) console.log([`  fare ${fare}`, ...lines].join('\n'))
  }
} finally {
  await remove()
}
