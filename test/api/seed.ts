import { EXAMPLE_ENDPOINT } from '../../src/delivery/endpoints/endpoint-shapes.ts'
import { secretPlace, targetPlace } from '../../src/delivery/endpoints/sealer.ts'
import { hashOfTarget } from '../../src/delivery/formats/target-limits.ts'
import { EXAMPLE_DELIVERY } from '../../src/delivery/operations/delivery-operations.ts'
import type { Scope } from '../../src/platform/base/kinds.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { createApiKey, hashOf, newKey, revokeApiKey } from '../../src/resellers/api-keys.ts'
import { EXAMPLE_CODE } from '../../src/resellers/key-operations.ts'
import type { Place } from '../../src/upstream/route-list.ts'
import { EXAMPLE_LINK } from '../../src/views/watch-link-operations.ts'
import { available, record } from '../fares/fare-fixtures.ts'
import { routes, sync } from '../routes/sync-fixtures.ts'
import { queueIn, TEST_SEALER } from '../support/api-server.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'

/** Data on which the examples of all operations work, and keys for them. */
export interface Seed {
  /** The reseller that the examples use. */
  readonly alpha: number
  /** Another reseller with its own data. */
  readonly beta: number
  readonly keys: {
    readonly alpha: string
    readonly beta: string
    readonly operator: string
  }
}

export async function seedApi(db: Db): Promise<Seed> {
  await sync(db, realRoutes('PMI-MAD', 'MAD-PMI', 'PMI-BCN'))
  await sync(db, realRoutes('PMI-MAD'), { list: 'with-availability' })
  await seedChanges(db)
  const alpha = await resellerWith(db, [cells({ reference: 'A-1' })], 'alpha')
  // The same question under other names.
  const beta = await resellerWith(db, [cells({ list: 'winter', reference: 'B-1' })], 'beta')
  await seedCheck(db)
  await seedWebhooks(db, alpha)
  await seedAddress(db, alpha)
  await seedAddress(db, beta)
  await seedSchedule(db)
  await sql`
    insert into sign_in_code (hash, operator, expires_at)
    values (${hashOf(EXAMPLE_CODE)}, true, clock_timestamp() + interval '1 day')
  `.execute(db)
  await sql`
    insert into watch_link (hash, watch_id, expires_at)
    select ${hashOf(EXAMPLE_LINK)}, id, clock_timestamp() + interval '1 day' from watch where reference = 'A-1'
  `.execute(db)
  return {
    alpha,
    beta,
    keys: {
      alpha: (await createApiKey(db, { resellerId: alpha })).text,
      beta: (await createApiKey(db, { resellerId: beta })).text,
      operator: (await createApiKey(db, { resellerId: null })).text,
    },
  }
}

/** A schedule that an operator may run. */
async function seedSchedule(db: Db): Promise<void> {
  const queue = await queueIn(db)
  const times = { pattern: '0 */2 * * *', zone: 'UTC' }
  await queue.reconcile('route-sync', [{ name: 'sync-routes', times, payload: {}, attempts: 1 }])
  await queue.close({ graceMs: 1_000 })
}

const CITIES: Readonly<Record<string, string>> = {
  BCN: 'Barcelona',
  IBZ: 'Ibiza',
  MAD: 'Madrid',
  PMI: 'Palma de Mallorca',
}

/** Routes with the names of real cities: their responses are the examples of the documentation. */
function realRoutes(...pairs: string[]) {
  const named = (place: Place) => ({ ...place, city: CITIES[place.id] ?? place.city })
  return routes(...pairs).map(({ departure, destination }) => ({
    departure: named(departure),
    destination: named(destination),
  }))
}

/** Run 3 has changed something, run 4 is held, one incident has ended and one is open. */
async function seedChanges(db: Db): Promise<void> {
  await sync(db, realRoutes('PMI-MAD', 'MAD-PMI', 'PMI-BCN', 'PMI-IBZ'))
  await sync(db, [])
  await sql`
    insert into incident (kind, closed_at) values ('mass_loss', clock_timestamp()), ('mass_expiry', null)
  `.execute(db)
}

/** Records one check of the fare that both watch, so that each has a record. */
async function seedCheck(db: Db): Promise<void> {
  const { id } = await selectOne(sql<{ id: number }>`select id from tracked_fare`, db)
  await record(db, id, new Date(), available())
}

/** The endpoint and the dead delivery of the examples. */
async function seedWebhooks(db: Db, resellerId: number): Promise<void> {
  const { endpointId } = EXAMPLE_ENDPOINT
  const url = 'https://receiver.example/hooks/fares'
  await sql`
    insert into webhook_endpoint (id, reseller_id, format, description, target, target_shown, secret, cursor_seq)
    values (${endpointId}, ${resellerId}, 'webhook', 'booking engine',
            ${TEST_SEALER.seal(url, targetPlace(endpointId))}, 'receiver.example/…ares',
            ${TEST_SEALER.seal('whsec_c2VlZA==', secretPlace(endpointId))}, 1)
  `.execute(db)
  await sql`
    insert into delivery (id, endpoint_id, seq, previous_seq, recorded_at, state, attempts, due_at, ended_at, dead_reason)
    values (${EXAMPLE_DELIVERY.deliveryId}, ${endpointId}, 1, 0, clock_timestamp(), 'dead', 8, null, clock_timestamp(), 'too_old')
  `.execute(db)
  await sql`
    insert into delivery_attempt (delivery_id, started_at, duration_ms, status, outcome, answer)
    values (${EXAMPLE_DELIVERY.deliveryId}, clock_timestamp(), 120, 503, 'http_5xx', 'upgrading')
  `.execute(db)
}

/** The e-mail address of the examples. */
async function seedAddress(db: Db, resellerId: number): Promise<void> {
  const hash = hashOfTarget({ format: 'email', target: 'ana@agency.example' })
  await sql`
    insert into allowed_address (reseller_id, address_hash, shown) values (${resellerId}, ${hash}, 'a…@agency.example')
  `.execute(db)
}

/** One key of each invalid kind. */
export async function wrongKeys(db: Db, resellerId: number): Promise<Record<string, string>> {
  const expired = await createApiKey(db, { resellerId, expiresAt: new Date(Date.now() - 1_000) })
  const revoked = await createApiKey(db, { resellerId })
  await revokeApiKey(db, revoked.key.id)
  return {
    // Well-formed, but never created.
    forged: newKey((max) => max - 1),
    expired: expired.text,
    revoked: revoked.text,
  }
}

export async function scopedKey(
  db: Db,
  resellerId: number | null,
  scopes: readonly Scope[],
): Promise<string> {
  return (await createApiKey(db, { resellerId, scopes })).text
}
