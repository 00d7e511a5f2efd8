import { expect } from 'vitest'
import { TooManyTestsError } from '../../src/delivery/endpoints/endpoint-settings.ts'
import { addExample, addTestEvent } from '../../src/delivery/endpoints/test-events.ts'
import { sql } from '../../src/platform/db/database.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import {
  addEndpoint,
  appendRecords,
  makeDue,
  type Received,
  startDispatcher,
  startReceiver,
} from './delivery-fixtures.ts'

const A = { reference: 'A' }

it('a failing endpoint is sent its oldest due record, whatever was due first', async ({ db }) => {
  const resellerId = await resellerWith(db, [cells(A)])
  const receiver = await startReceiver((_, res) => res.writeHead(500).end())
  const id = await addEndpoint(db, resellerId, { address: receiver.url, proven: false })
  await appendRecords(db, { resellerId, ...A }, [{}])
  const dispatcher = startDispatcher(db)
  await dispatcher.dispatch()
  await dispatcher.recorded(1)
  await sql`update delivery set due_at = now() - interval '1 second' where endpoint_id = ${id}`.execute(
    db,
  )
  await appendRecords(db, { resellerId, ...A }, [{}, {}])
  await sql`update delivery set due_at = now() - interval '1 minute' where seq > 1`.execute(db)

  await dispatcher.dispatch()
  await receiver.arrived(2)

  expect(receiver.received[1]?.body[0]?.data.seq).toBe(1)
})

it('a test goes out at once: before older records, and through an open circuit breaker', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [cells(A)])
  let status = 500
  const receiver = await startReceiver((_, res) => res.writeHead(status).end())
  const id = await addEndpoint(db, resellerId, { address: receiver.url, proven: false })
  await appendRecords(db, { resellerId, ...A }, Array(8).fill({}))
  const dispatcher = startDispatcher(db)
  await dispatcher.dispatch()
  await dispatcher.recorded(5)
  await makeDue(db, id)
  await dispatcher.dispatch()
  expect(receiver.received).toHaveLength(5)

  status = 200
  await addTestEvent({ db, resellerId }, id)
  await dispatcher.dispatch()
  await dispatcher.recorded(5 + 9)

  const types = receiver.received.slice(5).map(({ body }) => body[0]?.type)
  expect(types).toEqual(['webhook.test', ...Array(8).fill('fare.price_changed')])
})

it('after a success what failed in the outage is sent in order, and only once before its pause', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [cells(A)])
  const seqOf = ({ body }: Received) => Number(body[0]?.data.seq)
  let status = 500
  const receiver = await startReceiver((incoming, res) =>
    res.writeHead(seqOf(incoming) === 2 ? 500 : status).end(),
  )
  const id = await addEndpoint(db, resellerId, { address: receiver.url })
  await appendRecords(db, { resellerId, ...A }, Array(4).fill({}))
  const dispatcher = startDispatcher(db)
  await dispatcher.dispatch()
  await dispatcher.recorded(4)
  await sql`
    update delivery set due_at = now() + interval '5 hours', attempts = 5 where endpoint_id = ${id}
  `.execute(db)

  status = 200
  await appendRecords(db, { resellerId, ...A }, [{}])
  await dispatcher.dispatch()
  await dispatcher.recorded(4 + 1 + 4)
  await appendRecords(db, { resellerId, ...A }, [{}])
  await dispatcher.dispatch()
  await dispatcher.recorded(4 + 1 + 4 + 1)

  const sent = receiver.received.slice(4).map(seqOf)
  expect([sent[0], sent.slice(1, 5).toSorted((a, b) => a - b), sent.slice(5)]).toEqual([
    5,
    [1, 2, 3, 4],
    [6],
  ])
  const { rows } = await sql<{ seq: number; waits: boolean }>`
    select seq, due_at > now() + interval '1 hour' as waits from delivery where state = 'pending'
  `.execute(db)
  expect(rows).toEqual([{ seq: 2, waits: true }])
})

it('an example arrives without a number, and tests and examples have one limit an hour', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [cells(A)])
  const receiver = await startReceiver()
  const id = await addEndpoint(db, resellerId, { address: receiver.url })
  const owner = { db, resellerId }
  const dispatcher = startDispatcher(db)

  await addExample(owner, id, 'became_unavailable')
  await dispatcher.dispatch()
  await dispatcher.recorded(1)
  for (let i = 1; i < 15; i += 1) await addTestEvent(owner, id)
  const refused = await addExample(owner, id, 'expired').catch((err: unknown) => err)

  const [{ type, data } = { type: '', data: {} }] = receiver.received[0]?.body ?? []
  expect(type).toBe('example.became_unavailable')
  expect(data).toMatchObject({ kind: 'became_unavailable', reason: 'sold_out', reference: 'A-1' })
  expect(Object.keys(data)).not.toEqual(expect.arrayContaining(['seq']))
  expect(Object.keys(data)).not.toEqual(expect.arrayContaining(['previous']))
  expect(refused).toBeInstanceOf(TooManyTestsError)
  expect((refused as TooManyTestsError).retryAfterMs).toBeGreaterThan(200_000)
})
