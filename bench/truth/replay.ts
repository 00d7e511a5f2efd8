/**
 * Records a stream of answers on the version of the product in whose checkout this file lies, in a process of its own
 * (`runIn` of versions.ts). Nothing is asked: the answers, and the instants of their requests, are those of the stream.
 */

import type { Check } from '../../src/fares/beliefs.ts'
import type { FareView } from '../../src/fares/state.ts'
import { sql } from '../../src/platform/db/database.ts'
import type { Question } from '../../src/upstream/question.ts'
import { openProduct, type Product, type Settings } from './product.ts'
import { readStream, type StreamLine } from './stream-file.ts'

export interface ReplayJob {
  readonly databaseUrl: string
  readonly stream: string
  readonly settings: Settings
}

/** A record of the feed. */
export interface ReplayedRecord {
  readonly fare: number
  readonly kind: string
  readonly before: FareView
  readonly after: FareView
  /** When the first answer began that showed it, and when it was recorded. */
  readonly detectedMs: number
  readonly recordedMs: number
  readonly heldMs: number | null
}

export interface Replayed {
  readonly answers: number
  readonly records: readonly ReplayedRecord[]
}

/** Answers of requests that began within this time are recorded together. */
const BATCH_MS = 5_000
const MINUTE_MS = 60_000

async function questionsOf(
  stream: string,
): Promise<{ firstMs: number; questions: Map<number, Question> }> {
  const questions = new Map<number, Question>()
  let firstMs = Number.POSITIVE_INFINITY
  for await (const { fare, question, atMs } of readStream(stream)) {
    firstMs = Math.min(firstMs, atMs)
    questions.set(fare, question)
  }
  return { firstMs, questions }
}

/** The answers of the stream in batches. No fare is twice in one. */
async function* batchesOf(stream: string): AsyncGenerator<StreamLine[]> {
  let batch: StreamLine[] = []
  for await (const line of readStream(stream)) {
    const [first] = batch
    const isOther =
      first !== undefined &&
      (line.atMs - first.atMs > BATCH_MS || batch.some(({ fare }) => fare === line.fare))
    if (isOther) {
      yield batch
      batch = []
    }
    batch.push(line)
  }
  if (batch.length > 0) yield batch
}

async function replayAll(
  product: Product,
  stream: string,
  ids: ReadonlyMap<number, number>,
): Promise<number> {
  let answers = 0
  let minuteMs = 0
  for await (const batch of batchesOf(stream)) {
    const checks = await Promise.all(
      batch.map(async ({ fare, question, atMs, wire }): Promise<Check> => {
        const observation = await product.read(question, wire)
        return {
          fareId: ids.get(fare) ?? 0,
          askedAt: new Date(atMs),
          why: 'scheduled',
          observation,
        }
      }),
    )
    const endMs = Math.max(...batch.map(({ atMs, tookMs = 0 }) => atMs + tookMs)) + 1
    await product.setClock(endMs)
    if (endMs >= minuteMs) {
      await product.everyMinute()
      minuteMs = endMs + MINUTE_MS
    }
    await product.recordClaimed(checks)
    answers += batch.length
  }
  return answers
}

async function readRecords(product: Product): Promise<(ReplayedRecord & { fareId: number })[]> {
  const { rows } = await sql<ReplayedRecord & { fareId: number }>`
    select tracked_fare_id as "fareId", kind, before, after,
           (extract(epoch from detected_at) * 1000)::float8 as "detectedMs",
           (extract(epoch from recorded_at) * 1000)::float8 as "recordedMs",
           (extract(epoch from held_since) * 1000)::float8 as "heldMs"
      from availability_change
     order by seq
  `.execute(product.db)
  return rows
}

async function replay({ databaseUrl, stream, settings }: ReplayJob): Promise<void> {
  const product = await openProduct({ databaseUrl, settings })
  const { firstMs, questions } = await questionsOf(stream)
  await product.setClock(firstMs - MINUTE_MS)
  const fares = [...questions.keys()]
  const fareIds = await product.watch([...questions.values()])
  const ids = new Map(fares.map((fare, i) => [fare, fareIds[i] ?? 0]))
  const fareOf = new Map([...ids].map(([fare, id]) => [id, fare]))
  process.send?.({ begun: true })
  const answers = await replayAll(product, stream, ids)
  const records = (await readRecords(product)).map(({ fareId, ...record }) => {
    return { ...record, fare: fareOf.get(fareId) ?? 0 }
  })
  const result: Replayed = { answers, records }
  process.send?.({ result })
  process.once('message', () => process.disconnect())
}

process.once('disconnect', () => process.exit())
await replay(JSON.parse(process.argv[2] ?? '{}') as ReplayJob)
