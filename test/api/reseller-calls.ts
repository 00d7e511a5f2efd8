import { expect } from 'vitest'
import type { Db } from '../../src/platform/db/database.ts'
import { sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { keepFresh } from '../fares/fare-fixtures.ts'
import { type Answer, ask, bearer, newKeyText } from '../support/api-server.ts'
import { fileMinute } from '../support/file-minute.ts'

/** Calls the API with one key. Paths are relative to /api/v1. */
export interface Calls {
  readonly key: string
  get(path: string, init?: RequestInit): Promise<Answer>
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>
  /** Makes the calls one after the other, each as `POST /path`, and compares their bodies or statuses. */
  play(...steps: readonly (readonly [string, unknown, number | object])[]): Promise<void>
}

export interface ResellerCalls extends Calls {
  readonly resellerId: number
}

export function callsOf(base: string, key: string): Calls {
  const send: Calls['send'] = (method, path, body, headers = {}) =>
    ask(`${base}/api/v1${path}`, {
      method,
      headers: {
        ...bearer(key),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  return {
    key,
    send,
    get: (path, init = {}) => ask(`${base}/api/v1${path}`, { headers: bearer(key), ...init }),
    play: async (...steps) => {
      for (const [line, sent, expected] of steps) {
        const [method = '', path = ''] = line.split(' ')
        const { status, body } = await send(method, path, sent)
        const found = typeof expected === 'number' ? status : body
        expect({ [line]: found }).toMatchObject({ [line]: expected })
      }
    },
  }
}

/** Creates a reseller with a key that may read and watch. */
export async function newCaller(db: Db, base: string, name: string): Promise<ResellerCalls> {
  const { id: resellerId } = await createReseller(db, name)
  return { resellerId, ...callsOf(base, await newKeyText(db, { resellerId })) }
}

/** A valid watch for one adult, as the API accepts it. */
export function watch(reference: string, given: Record<string, unknown> = {}) {
  return {
    reference,
    flightId: '101',
    passengers: { nonResidents: { adults: 1 } },
    ...given,
  }
}

/** Creates a list with these watches. */
export async function listWith(
  { send }: ResellerCalls,
  list: string,
  watches: readonly object[],
): Promise<void> {
  await send('POST', '/watch-lists', { name: list })
  const { status, text } = await send('POST', `/watch-lists/${encodeURIComponent(list)}/watches`, {
    watches,
  })
  if (status !== 200) throw new Error(text)
}

/** The tracked fare of an outbound flight. */
export async function fareOf(db: Db, flightId: string): Promise<number> {
  const { id } = await selectOne(
    sql<{ id: number }>`select id from tracked_fare where flight_id = ${flightId}`,
    db,
  )
  return id
}

/** The items of a response. */
export function itemsOf<T = Record<string, unknown>>({ body }: Answer): T[] {
  return body.items as T[]
}

/** The instant this many minutes before the file's tests began. */
export function ago(minutes: number): Date {
  return new Date(fileMinute() - minutes * 60_000)
}

/** Makes a reseller's watches begin at an instant. What fares have shown since is fresh. */
export async function beginAt(db: Db, { resellerId }: ResellerCalls, at: Date): Promise<void> {
  await keepFresh(db)
  await sql`
    update watch set created_at = ${at}, began_at = ${at} where reseller_id = ${resellerId}
  `.execute(db)
}
