import { describe, expect } from 'vitest'
import { createEmailLimit } from '../../src/delivery/formats/email.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { it } from '../support/test-database.ts'

const ADDRESS = 'ana@agency.example'

async function addEndpoint(db: Db, resellerId: number): Promise<string> {
  const { id } = await selectOne(
    sql<{ id: string }>`
      insert into webhook_endpoint (reseller_id, format, target, target_shown, cursor_seq)
      values (${resellerId}, 'email', '', '', 0) returning id
    `,
    db,
  )
  return id
}

/** Lets time pass for the limit. */
async function pass(db: Db, minutes: number): Promise<void> {
  await sql`update email_pace set next_at = next_at - make_interval(mins => ${minutes})`.execute(db)
}

/** How many of 30 messages that all ask at once may be sent. */
async function sentAtOnce(db: Db, endpointId: string, perHour: number): Promise<number> {
  // Each call is one that another process could make: the limit keeps nothing in memory.
  const waits = await Promise.all(
    Array.from({ length: 30 }, () =>
      createEmailLimit(db, perHour)({ endpointId, address: ADDRESS }),
    ),
  )
  return waits.filter((ms) => ms === 0).length
}

describe('the limit of e-mail messages an hour', () => {
  it('lets half of them go at once, then one at a time, and never more than all in an hour', async ({
    db,
  }) => {
    const { id } = await createReseller(db, 'a')
    const endpointId = await addEndpoint(db, id)
    const limit = createEmailLimit(db, 6)
    const take = () => limit({ endpointId, address: ADDRESS })

    expect(await sentAtOnce(db, endpointId, 6)).toBe(3)
    // Three at once and one every quarter of an hour are six in an hour.
    const waitMs = await take()
    expect(waitMs).toBeGreaterThan(14 * 60_000)
    expect(waitMs).toBeLessThanOrEqual(15 * 60_000)

    const sent: number[] = []
    for (let quarter = 0; quarter < 3; quarter += 1) {
      await pass(db, 15)
      sent.push(await sentAtOnce(db, endpointId, 6))
    }
    expect(sent).toEqual([1, 1, 1])

    await pass(db, 24 * 60)
    expect(await sentAtOnce(db, endpointId, 6)).toBe(3)
  })

  it('belongs to the address of a reseller, not to one of its endpoints', async ({ db }) => {
    const [a, b] = [await createReseller(db, 'a'), await createReseller(db, 'b')]
    const [first, second] = [await addEndpoint(db, a.id), await addEndpoint(db, a.id)]
    const other = await addEndpoint(db, b.id)
    const limit = createEmailLimit(db, 1)

    expect(await limit({ endpointId: first, address: ADDRESS })).toBe(0)
    await sql`delete from webhook_endpoint where id = ${first}`.execute(db)

    const waitMs = await limit({ endpointId: second, address: 'ANA@agency.example' })
    expect(waitMs).toBeGreaterThan(59 * 60_000)
    expect(await limit({ endpointId: second, address: 'bob@agency.example' })).toBe(0)
    expect(await limit({ endpointId: other, address: ADDRESS })).toBe(0)
    expect(await limit({ endpointId: first, address: ADDRESS })).toBe(0)
  })
})
