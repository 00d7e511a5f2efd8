import { createHash } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { type Db, openDatabase, sql } from '../../src/platform/db/database.ts'
import { type Answer, startApi } from '../support/api-server.ts'
import { silentLog } from '../support/silent-log.ts'
import { cloneDatabase } from '../support/test-database.ts'
import { newCaller, type ResellerCalls } from './reseller-calls.ts'

/** A separate farewatch: database and API. */
export interface World {
  readonly db: Db
  readonly base: string
  /** The calls of the other reseller; undefined in the world without it. */
  readonly other: ResellerCalls | undefined
  /** The calls of the reseller that must not notice the difference. */
  readonly own: ResellerCalls
}

export interface Worlds {
  readonly alone: World
  readonly together: World
  readonly begunAt: Date
}

/** Two worlds that differ in one reseller only. It is created first, so that all ids differ between the worlds. */
export async function twoWorlds(): Promise<Worlds> {
  const begunAt = new Date()
  return { alone: await newWorld(false), together: await newWorld(true), begunAt }
}

async function newWorld(hasOther: boolean): Promise<World> {
  const clone = await cloneDatabase()
  const database = openDatabase({ url: clone.url, applicationName: 'test', log: silentLog })
  onTestFinished(async () => {
    await database.close()
    await clone.drop()
  })
  const { db } = database
  const base = await startApi(db)
  const other = hasOther ? await newCaller(db, base, 'other') : undefined
  return { db, base, other, own: await newCaller(db, base, 'own') }
}

/** Runs the same work in both worlds, one after the other. */
export async function inBoth(
  { alone, together }: Worlds,
  work: (world: World) => Promise<unknown>,
) {
  await work(alone)
  await work(together)
}

/**
 * Gives a reseller's watches the same ids and the same start in all worlds. An id is derived from the reseller, the
 * list and the reference.
 */
export async function beginAt({ db }: World, { resellerId }: ResellerCalls, at: Date) {
  const { rows } = await sql<{ id: string; name: string }>`
    select w.id, concat_ws(' ', r.name, l.name, w.reference) as name
      from watch w join watch_list l on l.id = w.watch_list_id join reseller r on r.id = w.reseller_id
     where w.reseller_id = ${resellerId}
  `.execute(db)
  for (const { id, name } of rows) {
    const hash = createHash('md5').update(name).digest('hex')
    await sql`
      update watch set id = ${hash}::uuid, created_at = ${at}, began_at = ${at} where id = ${id}
    `.execute(db)
    await sql`update watch_change set watch_id = ${hash}::uuid where watch_id = ${id}`.execute(db)
  }
}

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g
/** Headers that belong to one request or one moment. */
const OF_THE_REQUEST = /^(date|etag|x-request-id|ratelimit|farewatch-snapshot-age)$/

/** Ids that the database generates. Those that `beginAt` sets are compared. */
const NEW_ID = /[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g
/** Ages grow between two requests, so they are compared to the minute. */
const AGE = /(?<="(?:p50|p90|p95|p99|max)":)[\d.]+|(?<=[:[,])\d+\.\d+(?=[,}\]])/g

/** Shares of the time grow between two requests, too. */
const SHARE = /"bookableShare":[\d.]+/g

/**
 * A response with all its bytes and headers, except those of its request, the instants at which the test ran, and the
 * seconds of ages.
 */
export function bytesOf({ status, headers, text }: Answer, { begunAt }: Worlds): unknown {
  const hasTime = /"(ageSeconds|bookableShare)":/.test(text)
  const compared = [...headers]
    .filter(([name]) => !OF_THE_REQUEST.test(name))
    .filter(([name]) => !(hasTime && name === 'content-length'))
  const comparable = (part: string) =>
    part
      .replaceAll(/(?<=#\/sign-in\/|watch-links\/|"code":"(?=[\w-]{24}"))[\w-]+/g, '<code>')
      .replaceAll(INSTANT, (instant) => (new Date(instant) >= begunAt ? '<now>' : instant))
      .replaceAll(NEW_ID, '<id>')
      .replaceAll(AGE, (seconds) => `${Math.floor(Number(seconds) / 60)} min`)
      .replaceAll(SHARE, '"bookableShare":0')
      .replaceAll(/"requestId":"[^"]+"/g, '"requestId":"<id>"')
      .replaceAll(/whsec_[^"]+/g, '<secret>')
      .replaceAll(/fwk_[\w-]+/g, '<key>')
  return {
    status,
    headers: compared.map(([name, value]) => [name, comparable(value)]),
    text: comparable(text),
  }
}
