/**
 * Plays the world of bench/truth.ts on the version of the product in whose checkout this file lies, in a process of its
 * own (`runIn` of versions.ts).
 */
import { sql } from '../../src/platform/db/database.ts'
import { type Question, questionWith } from '../../src/upstream/question.ts'
import type { Fare } from './market.ts'
import { openProduct, type Product } from './product.ts'
import { createScorer, type Score, type Scorer } from './score.ts'
import { answerOf, createWorld, hashOf, truthOf, type World, type WorldArgs } from './upstream.ts'

export interface Job {
  readonly databaseUrl: string
  readonly world: WorldArgs
  /** The file that keeps all answers. */
}

export interface Played {
  readonly worldHash: string
  /** How many, by what they were made for. */
  readonly checks: Readonly<Record<string, number>>
  readonly seconds: number
  readonly dropped: Readonly<Record<string, number>>
  /** For how many minutes each kind of incident was open. */
  readonly incidents: Readonly<Record<string, number>>
  readonly score: Score
}

const MINUTE_MS = 60_000
/** From the last slot of a batch to its recording. */
const RECORDED_AFTER_MS = 200

export function questionOf({
  legs: [flight, back],
  passengers: [adults, children],
}: Fare): Question {
  return questionWith({
    flightId: flight.id,
    returnFlightId: back?.id ?? null,
    passengers: { nonResidents: { adults, children } },
  })
}

interface Playing {
  readonly product: Product
  readonly world: World
  readonly fares: ReadonlyMap<number, Fare>
  readonly scorer: Scorer
}

/**
 * Checks what is due until the end. All that is claimed at a time is recorded in one batch, some seconds of the budget:
 * smaller batches would take twice the time and decide alike.
 */
async function playAll({ product, world, ...playing }: Playing): Promise<Played['checks']> {
  let nowMs = world.startMs
  let minuteMs = nowMs
  let vacuumMs = nowMs
  const checks: Record<string, number> = {}
  while (nowMs < world.endMs) {
    await product.setClock(nowMs)
    if (nowMs >= minuteMs) {
      await product.everyMinute()
      if (nowMs >= world.knownMs) await playing.scorer.sample(nowMs, 60)
      minuteMs += MINUTE_MS
    }
    if (nowMs >= vacuumMs) {
      await sql`vacuum analyze`.execute(product.db)
      vacuumMs = nowMs + 10 * MINUTE_MS
    }
    const batch = await askDue(product, world, playing)
    nowMs = (batch.at(-1)?.askedAt.getTime() ?? nowMs + 1_000) + RECORDED_AFTER_MS
    for (const { why } of batch) checks[why] = (checks[why] ?? 0) + 1
    if (batch.length === 0) continue
    await product.setClock(nowMs)
    await product.recordClaimed(batch)
  }
  return checks
}

async function askDue(
  product: Product,
  world: World,
  { fares }: Pick<Playing, 'fares'>,
): Promise<Parameters<Product['recordClaimed']>[0]> {
  const claimed = await product.dispatch()
  return Promise.all(
    claimed.map(async ({ fareId, slotAt, lane }) => {
      const fare = fares.get(fareId)
      if (fare === undefined) throw new Error(`no watch asks for fare ${fareId}`)
      const atMs = slotAt.getTime()
      const [question, wire] = [questionOf(fare), answerOf(world, fare, atMs)]
      return { fareId, askedAt: slotAt, why: lane, observation: await product.read(question, wire) }
    }),
  )
}

async function readIncidents({ db }: Product): Promise<Played['incidents']> {
  const { rows } = await sql<{ kind: string; minutes: number }>`
    select kind, (sum(extract(epoch from coalesce(closed_at, clock_timestamp()) - opened_at)) / 60)::float8 as minutes
      from incident
     group by kind
  `.execute(db)
  return Object.fromEntries(rows.map(({ kind, minutes }) => [kind, Math.round(minutes)]))
}

async function play({ databaseUrl, world: args }: Job): Promise<void> {
  const world = createWorld(args)
  const settings = { UPSTREAM_REQUESTS_PER_SECOND: args.requestsPerSecond }
  const product = await openProduct({ databaseUrl, settings })
  await product.setClock(world.startMs)
  const fareIds = await product.watch(world.fares.map(questionOf))
  const fares = new Map(world.fares.map((fare, i) => [fareIds[i] ?? 0, fare]))
  const read = (fare: Fare, atMs: number) => product.read(questionOf(fare), truthOf(fare, atMs))
  const scorer = createScorer({ db: product.db, world, fares, read })
  process.send?.({ begun: true })
  const startedMs = performance.now()
  const checks = await playAll({ product, world, fares, scorer })
  const seconds = (performance.now() - startedMs) / 1_000
  const played: Played = {
    worldHash: hashOf(world),
    checks,
    seconds,
    dropped: Object.fromEntries(product.dropped),
    incidents: await readIncidents(product),
    score: await scorer.score(),
  }
  process.send?.({ result: played })
  // The connection stays until the parent has read what it cost.
  process.once('message', () => process.disconnect())
}

process.once('disconnect', () => process.exit())
await play(JSON.parse(process.argv[2] ?? '{}') as Job)
