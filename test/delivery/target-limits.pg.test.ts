import { describe, expect } from 'vitest'
import { createEndpoint, deleteEndpoint } from '../../src/delivery/endpoints/change-endpoints.ts'
import { TooManyTestsError } from '../../src/delivery/endpoints/endpoint-settings.ts'
import { addTestEvent } from '../../src/delivery/endpoints/test-events.ts'
import {
  hashOfTarget,
  messageLimit,
  takeFromLimit,
} from '../../src/delivery/formats/target-limits.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { TEST_SEALER } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { NO_CHATS } from './message-fixtures.ts'

const addressOf = (target: string) => hashOfTarget({ format: 'email', target })
const ADDRESS = addressOf('ana@agency.example')

/** Lets time pass for the limits. */
async function pass(db: Db, minutes: number): Promise<void> {
  await sql`update target_pace set next_at = next_at - make_interval(mins => ${minutes})`.execute(
    db,
  )
}

/** How many of 30 messages that all ask at once may be sent. */
async function sentAtOnce(db: Db, perHour: number): Promise<number> {
  const waits = await Promise.all(
    Array.from({ length: 30 }, () => takeFromLimit(db, ADDRESS, messageLimit(perHour))),
  )
  return waits.filter((ms) => ms === 0).length
}

describe('the limit of e-mail messages an hour', () => {
  // Fault: More e-mail than the limit an hour.
  it('lets half of them go at once, then one at a time, and never more than all in an hour', async ({
    db,
  }) => {
    expect(await sentAtOnce(db, 6)).toBe(3)
    // Three at once and one every quarter of an hour are six in an hour.
    const waitMs = await takeFromLimit(db, ADDRESS, messageLimit(6))
    expect(waitMs).toBeGreaterThan(14 * 60_000)
    expect(waitMs).toBeLessThanOrEqual(15 * 60_000)

    const sent: number[] = []
    for (let quarter = 0; quarter < 3; quarter += 1) {
      await pass(db, 15)
      sent.push(await sentAtOnce(db, 6))
    }
    expect(sent).toEqual([1, 1, 1])

    await pass(db, 24 * 60)
    expect(await sentAtOnce(db, 6)).toBe(3)
  })

  it('belongs to the address, however it is written, and to no other', async ({ db }) => {
    expect(await takeFromLimit(db, ADDRESS, messageLimit(1))).toBe(0)

    const again = await takeFromLimit(db, addressOf('ANA@Agency.example'), messageLimit(1))
    const other = await takeFromLimit(db, addressOf('bob@agency.example'), messageLimit(1))

    expect(again).toBeGreaterThan(59 * 60_000)
    expect(other).toBe(0)
  })
})

const deps = {
  sealer: TEST_SEALER,
  targetRules: {
    urls: { allowHttp: false, allowedNetworks: [] },
    chatHosts: NO_CHATS,
    email: { smtpUrl: undefined, from: undefined },
  },
}

/** What 20 tests that a reseller asks for at a target come to, each at an endpoint that was just made. */
async function testsOf(db: Db, resellerId: number, target: string): Promise<unknown[]> {
  const owner = { db, resellerId }
  const ends: unknown[] = []
  for (let i = 0; i < 20; i += 1) {
    const { id } = await createEndpoint(owner, deps, { target: target.replace('#', String(i)) })
    const refused = await addTestEvent(owner, id).catch((err: unknown) => err)
    ends.push(refused instanceof TooManyTestsError ? 'refused' : typeof refused)
    await deleteEndpoint(owner, id)
  }
  return ends
}

// Fault: A reseller tests an address again and again.
it('neither other endpoints, other writings of a URL nor other resellers pass the limit of tests', async ({
  db,
}) => {
  const [a, b] = [await createReseller(db, 'a'), await createReseller(db, 'b')]

  const first = await testsOf(db, a.id, 'https://receiver.example/hooks?n=#')
  const others = [
    ...(await testsOf(db, a.id, 'https://RECEIVER.example.:443/%68ooks/?n=#')),
    ...(await testsOf(db, b.id, 'https://receiver.example/Hooks')),
  ]
  const elsewhere = await testsOf(db, b.id, 'https://other.example/hooks')

  expect(first.filter((end) => end === 'string')).toHaveLength(15)
  expect(new Set(others)).toEqual(new Set(['refused']))
  expect(elsewhere.filter((end) => end === 'string')).toHaveLength(15)
})
