import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { readRouteList } from '../../src/upstream/lists/read-route-list.ts'
import { ANOMALIES, anomalyCounter, type UpstreamEndpoint } from '../../src/upstream/telemetry.ts'
import { fetchList } from '../support/fetch-list.ts'
import { json } from './answering-server.ts'
import { clientFor } from './client-fixture.ts'
import { elementWith, place } from './routes-fixture.ts'
import { available, question } from './verify-fixtures.ts'

const { signal } = new AbortController()

/** The values of the metric above 0 after the client has received one answer of an endpoint. */
async function counted(endpoint: UpstreamEndpoint, body: string, { readings = 1 } = {}) {
  const metrics = createMetrics()
  await using fixture = await clientFor(json(body), { observeAnomalies: anomalyCounter(metrics) })
  const { client } = fixture
  if (endpoint === 'verify') await client.verifyFares(question(), { signal })
  else {
    const list = await fetchList(client, endpoint, { signal })
    const readToEnd = async () => {
      for await (const _slice of readRouteList(list, { endpoint }));
    }
    for (let i = 0; i < readings; i += 1) await readToEnd().catch(() => undefined)
  }
  const { values } = await metrics.contractAnomalies.get()
  return values.filter(({ value }) => value > 0).map(({ labels, value }) => ({ ...labels, value }))
}

const list = (...elements: string[]) => `[${elements.join(',')}]`

const ODD_LIST = [
  elementWith({ ...place('1'), lat: 1, lon: 2 }),
  elementWith({ ...place('2'), id: 2, iata: null, city: 'a\0b' }),
]

it.each<[UpstreamEndpoint, string, object]>([
  [
    'with-availability',
    list(...ODD_LIST),
    { unknown_fields: 2, numeric_ids: 1, blank_texts: 1, cleaned_texts: 1, self_routes: 1 },
  ],
  ['routes', list(elementWith(place('1')), '{}'), { broken_list: 1 }],
  ['verify', JSON.stringify(available({ a: 1, b: 2 })), { unknown_fields: 1 }],
])('the anomalies of an answer are counted for %s', async (endpoint, body, anomalies) => {
  const found = Object.entries(anomalies).map(([anomaly, value]) => ({ endpoint, anomaly, value }))

  expect(await counted(endpoint, body)).toEqual(found)
})

it('an answer that follows the interface counts nothing', async () => {
  expect(await counted('routes', list(elementWith(place('1'))))).toEqual([])
  expect(await counted('verify', JSON.stringify(available()))).toEqual([])
  expect(await counted('verify', '{"1234":{"available":false}}')).toEqual([])
})

it('the table of docs/reference/upstream.md lists exactly the anomalies of the code', () => {
  const page = readFileSync(
    path.join(import.meta.dirname, '../../docs/reference/upstream.md'),
    'utf8',
  )
  const section = page.split(/^## /m).find((text) => text.startsWith('Anomalies')) ?? ''
  const rows = section.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)
  const documented = [...rows].flatMap(([, anomaly, endpoints]) =>
    [...(endpoints ?? '').matchAll(/`([\w-]+)`/g)].map(([, endpoint]) => `${endpoint} ${anomaly}`),
  )

  const inCode = Object.entries(ANOMALIES).flatMap(([endpoint, names]) =>
    names.map((anomaly) => `${endpoint} ${anomaly}`),
  )
  expect(documented.toSorted()).toEqual(inCode.toSorted())
})
