import { expect } from 'vitest'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { watchRows } from '../watches/watch-fixtures.ts'
import { listWith, newCaller, watch } from './reseller-calls.ts'

it('a question that names one flight twice, and a new date that has passed, are refused', async ({
  db,
}) => {
  const ana = await newCaller(db, await startApi(db), 'ana')
  await listWith(ana, 'summer', [watch('A-1', { departsOn: '2099-01-01' })])
  const post = (...watches: object[]) =>
    ana.send('POST', '/watch-lists/summer/watches', { watches })

  const same = await post(watch('A-2', { flightId: '7', returnFlightId: ' 7' }))
  const past = await post(watch('A-1', { departsOn: '2020-01-01' }), watch('A-2'))

  expect(same).toMatchObject({ status: 400, body: { code: 'watch.invalid_rows' } })
  expect(same.body.errors).toEqual([
    {
      pointer: '/watches/0/returnFlightId',
      detail: expect.stringContaining('verify.same_flight'),
    },
  ])
  expect(past).toMatchObject({ status: 400, body: { code: 'watch.invalid_rows' } })
  expect(past.body.errors).toEqual([
    { pointer: '/watches/0/departsOn', detail: '2020-01-01 has passed' },
  ])
  expect(await watchRows(db, ana.resellerId)).toHaveLength(1)
})
