import { expect } from 'vitest'
import type { DoctorDeps } from '../../src/app/doctor/doctor-finding.ts'
import { examineDeliveries } from '../../src/app/doctor/doctor-work.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { addEndpoint, appendRecords, fanOutAll } from '../delivery/delivery-fixtures.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'

const A = { reference: 'A' }

const examine = (db: Db) =>
  examineDeliveries({ app: { database: { db }, clock: systemClock } } as unknown as DoctorDeps, {
    pauses: [],
  })

it('the finding about deliveries names late and dead ones, and the endpoints that are disabled or fail for hours', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [cells(A)])
  const [late, gone, failing] = [
    await addEndpoint(db, resellerId),
    await addEndpoint(db, resellerId),
    await addEndpoint(db, resellerId),
  ]
  await addEndpoint(db, resellerId, { disabled: true })
  await appendRecords(db, { resellerId, ...A }, [{}])
  await fanOutAll(db)
  await sql`update webhook_endpoint set failures = 1, failing_since = now() where id = ${failing}`.execute(
    db,
  )
  expect(await examine(db)).toEqual([
    {
      about: 'deliveries',
      level: 'ok',
      says: '3 wait, none is late, 0 are dead; endpoints whose last attempt failed: 1',
      todo: null,
    },
  ])

  const disable = (id: string, reason: string) =>
    sql`update webhook_endpoint set disabled_at = now(), disabled_reason = ${reason} where id = ${id}`.execute(
      db,
    )
  await disable(gone, 'gone')
  await disable(failing, 'failing')
  await sql`update delivery set due_at = now() - interval '400 seconds' where endpoint_id = ${late}`.execute(
    db,
  )
  const { rows } = await sql<{ name: string }>`select name from reseller`.execute(db)

  const findings = await examine(db)

  expect(findings.map(({ level, says }) => [level, says])).toEqual([
    ['wrong', 'deliveries that could be sent wait for 6 min'],
    [
      'warning',
      `endpoints receive nothing: ${failing} of ${rows[0]?.name} (failed for five days), ${gone} of ${rows[0]?.name} (answered 410)`,
    ],
  ])

  await sql`
    update webhook_endpoint set failures = 9, failing_since = now() - interval '3 hours', open_until = now() where id = ${late}
  `.execute(db)
  await sql`
    update delivery set state = 'dead', dead_reason = 'too_old', due_at = null, ended_at = now() where endpoint_id = ${gone}
  `.execute(db)

  const worse = await examine(db)

  expect(worse.map(({ level, says }) => [level, says])).toEqual([
    [
      'wrong',
      expect.stringMatching(
        new RegExp(`^endpoints receive nothing: ${late} of .* \\(every attempt has failed since `),
      ) as string,
    ],
    ['wrong', '1 ended without success in the last hour'],
  ])
})
