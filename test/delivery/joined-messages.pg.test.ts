import { expect, onTestFinished } from 'vitest'
import { createEmailFormat } from '../../src/delivery/formats/email.ts'
import { createMailer } from '../../src/delivery/formats/mailer.ts'
import {
  hashOfTarget,
  messageLimit,
  takeFromLimit,
} from '../../src/delivery/formats/target-limits.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { startSmtpServer } from '../support/smtp-server.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { addEndpoint, appendRecords, makeDue, startDispatcher } from './delivery-fixtures.ts'

/** A loss of the flight with this number. */
function lossOf(number: number) {
  const flight = {
    from: 'PMI',
    to: 'BCN',
    airline: 'Llevant Airways',
    numbers: [number],
    departsAt: '2026-11-24 10:25',
    arrivesAt: '2026-11-24 11:20',
  }
  const leg = { belief: 'unavailable', flight: null }
  return {
    kind: 'became_unavailable',
    reason: 'sold_out',
    before: { pair: 'bookable', outbound: { ...leg, flight }, return: null, price: null },
    after: { pair: 'not_bookable', outbound: leg, return: null, price: null },
  }
}

/** Due times and attempts of what waits, and how many are delivered. */
async function deliveries(db: Db) {
  const rows = await db
    .selectFrom('delivery')
    .select(['state', 'attempts', 'due_at as dueAt'])
    .orderBy('seq')
    .execute()
  const waiting = rows.filter(({ state }) => state === 'pending')
  return { waiting, delivered: rows.filter(({ state }) => state === 'delivered').length }
}

it('a digest joins what is due, the limit an hour postpones it, and a broken connection repeats it: nothing is lost', async ({
  db,
}) => {
  const server = await startSmtpServer()
  onTestFinished(() => server.close())
  const A = { resellerId: await resellerWith(db, [cells({ reference: 'A' })]), reference: 'A' }
  const endpoint = await addEndpoint(db, A.resellerId, {
    format: 'email',
    address: 'ana@agency.example',
    digest: { type: 'interval', every: '15m' },
  })
  const format = createEmailFormat({
    mailer: createMailer({
      smtpUrl: `smtp://127.0.0.1:${server.port}`,
      from: 'fares@seller.example',
      scrub: (text) => text,
    }),
    limit: (target) =>
      takeFromLimit(db, hashOfTarget({ format: 'email', target }), messageLimit(2)),
  })
  const dispatcher = startDispatcher(db, { formats: [format] })
  const flightsOf = (mail: number) =>
    [...(server.mails[mail]?.raw ?? '').matchAll(/Llevant Airways (\d+)/g)].map(([, n]) =>
      Number(n),
    )

  // All are due at the same quarter of an hour, and nothing is sent before it.
  await appendRecords(db, A, [lossOf(1), lossOf(2), lossOf(3)])
  await dispatcher.dispatch()
  const { waiting } = await deliveries(db)
  expect(waiting).toHaveLength(3)
  expect(new Set(waiting.map(({ dueAt }) => dueAt?.getTime())).size).toBe(1)
  expect((waiting[0]?.dueAt?.getTime() ?? 1) % (15 * 60_000)).toBe(0)
  expect(server.mails).toEqual([])

  // The mail server drops the connection after it has the message: the whole message is repeated under its id.
  await makeDue(db, endpoint)
  server.steps.message = 'drop'
  await dispatcher.dispatch()
  await dispatcher.recorded(3)
  expect((await deliveries(db)).waiting.map(({ attempts }) => attempts)).toEqual([1, 1, 1])
  server.steps.message = undefined
  await sql`update target_pace set next_at = now()`.execute(db)
  await makeDue(db, endpoint)
  await dispatcher.dispatch()
  await dispatcher.recorded(6)
  expect([flightsOf(0), flightsOf(1)]).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ])
  const ids = server.mails.map(({ raw }) => /^Message-ID: (.*)$/im.exec(raw)?.[1])
  expect(ids[1]).toBe(ids[0])

  // The limit is used up: the next digest waits without an attempt and joins the one after it.
  await appendRecords(db, A, [lossOf(4), lossOf(5)])
  await dispatcher.dispatch()
  await makeDue(db, endpoint)
  await dispatcher.dispatch()
  await dispatcher.recorded(8)
  const postponed = await deliveries(db)
  expect(postponed.waiting.map(({ attempts }) => attempts)).toEqual([0, 0])
  expect(Number(postponed.waiting[0]?.dueAt)).toBeGreaterThan(Date.now() + 25 * 60_000)
  expect(server.mails).toHaveLength(2)

  await appendRecords(db, A, [lossOf(6)])
  await dispatcher.dispatch()
  await sql`update target_pace set next_at = now()`.execute(db)
  await makeDue(db, endpoint)
  await dispatcher.dispatch()
  await dispatcher.recorded(11)
  expect(flightsOf(2)).toEqual([4, 5, 6])
  expect(await deliveries(db)).toMatchObject({ waiting: [], delivered: 6 })
})
