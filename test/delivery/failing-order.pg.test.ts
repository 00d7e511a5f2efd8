import { expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import {
  addEndpoint,
  appendRecords,
  type Received,
  startDispatcher,
  startReceiver,
} from './delivery-fixtures.ts'

const A = { reference: 'A' }

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
