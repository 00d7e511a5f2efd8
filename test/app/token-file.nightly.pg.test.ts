import { writeFileSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { trackFares } from '../fares/fare-fixtures.ts'
import { makeDue, startWorker, untilReady } from '../fares/worker-fixtures.ts'
import { folderWith } from '../platform/config/config-fixture.ts'
import { listenLocally } from '../support/local-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { stateOf } from '../upstream/health-fixtures.ts'

const OLD = 'the-old-token-canary'
const NEW = 'the-new-token-canary'

it('a new credential in its file ends the refusals of the old one, without a restart and unseen', async ({
  db,
  databaseUrl,
}) => {
  const asked: (string | null)[] = []
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const token = searchParams.get('accessToken')
    response.setHeader('content-type', 'application/json')
    if (!pathname.endsWith('/verify')) return response.end('[]')
    asked.push(token)
    if (token !== NEW) return response.writeHead(401).end(`{"refused":"${token}"}`)
    return response.end(JSON.stringify({ [searchParams.get('flightId') ?? '']: 'odd' }))
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  const file = path.join(folderWith({ token: OLD }), 'token')
  await trackFares(db, 40)
  await makeDue(db)
  const worker = startWorker({
    databaseUrl,
    upstreamUrl: url,
    settings: { UPSTREAM_ACCESS_TOKEN_FILE: file, LOG_LEVEL: 'debug' },
  })
  await untilReady(worker)
  await until('the breaker open', async () => (await stateOf(db, 'verify', 'auth')).open !== null)

  writeFileSync(file, NEW)

  await until('a call with the new token', () => asked.includes(NEW))
  expect((await stateOf(db, 'verify', 'auth')).open).toBeNull()
  expect(asked.slice(asked.indexOf(NEW)).filter((token) => token !== NEW)).toEqual([])
  expect(worker.stdout()).toContain('it is used from now on')
  expect(worker.stdout() + worker.stderr()).not.toMatch(/canary/)
})
