import { afterAll, beforeAll, expect, it } from 'vitest'
import type { SecondCount } from '../../sandbox/operations/request-log.ts'
import { until } from '../support/until.ts'
import { type FaultFixture, prepareFixture } from './faults/fault-fixture.ts'

let fixture: FaultFixture
beforeAll(async () => {
  fixture = await prepareFixture()
})
afterAll(() => fixture.close())

async function seconds(query = '') {
  const response = await fetch(`${fixture.sandbox.url}/sandbox/log/seconds${query}`)
  return { status: response.status, body: (await response.json()) as { seconds: SecondCount[] } }
}

it('/sandbox/log/seconds counts the requests of each second and endpoint by status', async () => {
  fixture.clock.advance(10_500)
  const from = fixture.clock.now()
  const second = new Date(Math.floor(from.getTime() / 1000) * 1000)
  await fixture.request('verify').done
  await fixture.request('verify', { accessToken: 'wrong' }).done
  await fixture.request('csv').done
  fixture.clock.advance(700)
  fixture.sandbox.setFaults([{ name: 'hang' }])
  const { next } = await fixture.logAfter(0)
  const hanging = fixture.request('verify')
  await until('the log', async () => (await fixture.logAfter(next)).entries.length > 0)
  hanging.hangUp()

  const { body } = await seconds(`?from=${from.toISOString()}`)

  const at = second.toISOString()
  expect(body.seconds).toEqual([
    { second: at, endpoint: 'verify', count: 2, byStatus: { 200: 1, 401: 1 } },
    { second: at, endpoint: 'csv', count: 1, byStatus: { 200: 1 } },
    {
      second: new Date(second.getTime() + 1000).toISOString(),
      endpoint: 'verify',
      count: 1,
      byStatus: { none: 1 },
    },
  ])
  const before = await seconds(`?to=${from.toISOString()}`)
  expect(
    before.body.seconds.map(({ endpoint }) => endpoint).toSorted((a, b) => a.localeCompare(b)),
  ).toEqual(['routes', 'verify'])
})

it('/sandbox/log/seconds and /sandbox/log reject an unknown parameter', async () => {
  expect(await seconds('?since=2026-01-31T12:00:00Z')).toMatchObject({ status: 400 })
  const answer = await fetch(`${fixture.sandbox.url}/sandbox/log?limit=5`)
  expect(await answer.json()).toMatchObject({
    title: 'there is no parameter limit; the parameters are after',
  })
})

it('/sandbox/log/seconds rejects an invalid instant', async () => {
  expect(await seconds('?from=now')).toMatchObject({ status: 400 })
})
