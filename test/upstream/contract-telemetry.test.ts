import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { readRouteList } from '../../src/upstream/lists/read-route-list.ts'
import { readRoutesCsv } from '../../src/upstream/lists/read-routes-csv.ts'
import type { RouteListBody } from '../../src/upstream/route-list.ts'
import {
  ANOMALIES,
  type AnomalyEndpoint,
  anomalyCounter,
} from '../../src/upstream/upstream-metrics.ts'
import { answering, json } from './answering-server.ts'
import { clientOf } from './client-fixture.ts'
import { elementWith, place } from './routes-fixture.ts'
import { available, flight, price, question } from './verify-fixtures.ts'

const { signal } = new AbortController()

/** What the metric holds above 0 once the client has taken one answer of an endpoint. */
async function counted(endpoint: AnomalyEndpoint, body: string, { readings = 1 } = {}) {
  const metrics = createMetrics()
  const type = endpoint === 'csv' ? 'text/csv' : 'application/json'
  await using server = await answering(json(body, { 'content-type': type }))
  await using fixture = clientOf(server.url, { observeAnomalies: anomalyCounter(metrics) })
  const { client } = fixture
  if (endpoint === 'verify') await client.verifyFares(question(), { signal })
  else {
    const list =
      endpoint === 'csv'
        ? await client.fetchRoutesCsv({ signal })
        : await client.fetchRouteList(endpoint, { signal })
    for (let i = 0; i < readings; i += 1) await readToEnd(endpoint, list).catch(() => undefined)
  }
  const { values } = await metrics.contractAnomalies.get()
  return values.filter(({ value }) => value > 0).map(({ labels, value }) => ({ ...labels, value }))
}

async function readToEnd(endpoint: AnomalyEndpoint, body: RouteListBody): Promise<void> {
  const slices = endpoint === 'csv' ? readRoutesCsv(body) : readRouteList(body, { endpoint })
  for await (const _slice of slices);
}

const list = (...elements: string[]) => `[${elements.join(',')}]`

describe('an oddity is counted for its endpoint', () => {
  it.each<[string, AnomalyEndpoint, string, number]>([
    ['unknown_fields', 'routes', list(elementWith({ ...place('1'), lat: 1, lon: 2 })), 2],
    ['numeric_ids', 'with-availability', list(elementWith({ ...place('1'), id: 1 })), 1],
    ['blank_texts', 'routes', list(elementWith({ ...place('1'), city: null })), 1],
    ['cleaned_texts', 'routes', list(elementWith({ ...place('1'), city: 'a\0b' })), 1],
    ['self_routes', 'routes', list(elementWith(place('2'))), 1],
    ['broken_list', 'routes', list(elementWith(place('1')), '{}'), 1],
    ['broken_list', 'csv', 'departure_id,destination_id\n1\n', 1],
    ['unrecognised_columns', 'csv', 'a,b\n1,2\n', 1],
    ['list_for_object', 'verify', '[]', 1],
    ['doubled_names', 'verify', '{"1234":{"available":true,"available":false}}', 1],
    ['unknown_fields', 'verify', JSON.stringify(available({ a: 1, b: 2 })), 1],
    ['text_ids', 'verify', JSON.stringify(available({ id: '1234' })), 1],
    ['blank_texts', 'verify', JSON.stringify(available({ airline: { id: 1 } })), 1],
    ['flight_id_unlike_key', 'verify', JSON.stringify(available({ id: 1 })), 1],
    ['extra_ids', 'verify', JSON.stringify({ ...available(), 7: { available: false } }), 1],
    ['price_unreadable', 'verify', JSON.stringify(available({ price: price({ total: 1 }) })), 1],
    ['total_unlike_sum', 'verify', JSON.stringify(available({ price: price({ total: '9' }) })), 1],
    [
      'categories_unlike_request',
      'verify',
      JSON.stringify(available({ price: { currency: 'EUR', total: '84.50' } })),
      1,
    ],
    ['duration_unlike_times', 'verify', JSON.stringify(available({ duration: { seconds: 1 } })), 1],
    [
      'flight_though_unavailable',
      'verify',
      JSON.stringify({ 1234: { available: false, flight: flight() } }),
      1,
    ],
  ])('%s of %s', async (oddity, endpoint, body, value) => {
    expect(await counted(endpoint, body)).toEqual([{ endpoint, oddity, value }])
  })

  it('ragged rows beside columns that are not recognised', async () => {
    expect(await counted('csv', 'a,b\n1\n1,2\n')).toEqual([
      { endpoint: 'csv', oddity: 'unrecognised_columns', value: 1 },
      { endpoint: 'csv', oddity: 'ragged_rows', value: 1 },
    ])
  })
})

it('counts nothing where an answer is as the interface has it', async () => {
  expect(await counted('routes', list(elementWith(place('1'))))).toEqual([])
  expect(await counted('verify', JSON.stringify(available()))).toEqual([])
  expect(await counted('verify', '{"1234":{"available":false}}')).toEqual([])
})

it('counts a list once, though it is read twice', async () => {
  const body = list(elementWith(place('2')))

  const found = await counted('routes', body, { readings: 2 })

  expect(found).toMatchObject([{ oddity: 'self_routes', value: 1 }])
})

it('begins every label at 0, and has no others', async () => {
  const metrics = createMetrics()

  anomalyCounter(metrics)

  const { values } = await metrics.contractAnomalies.get()
  const all = Object.entries(ANOMALIES).flatMap(([endpoint, names]) =>
    names.map((oddity) => ({ labels: { endpoint, oddity }, value: 0 })),
  )
  expect(values).toEqual(all)
})

it('has every oddity in the table of docs/reference/upstream.md, and the table no others', () => {
  const page = readFileSync(
    path.join(import.meta.dirname, '../../docs/reference/upstream.md'),
    'utf8',
  )
  const section = page.split(/^## /m).find((text) => text.startsWith('Oddities')) ?? ''
  const rows = section.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)
  const told = [...rows].flatMap(([, oddity, endpoints]) =>
    [...(endpoints ?? '').matchAll(/`([\w-]+)`/g)].map(([, endpoint]) => `${endpoint} ${oddity}`),
  )

  const held = Object.entries(ANOMALIES).flatMap(([endpoint, names]) =>
    names.map((oddity) => `${endpoint} ${oddity}`),
  )
  expect(told.toSorted()).toEqual(held.toSorted())
})
