import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Sandbox } from '../../sandbox/sandbox-server.ts'
import { type Received, sendRequest } from './raw-client.ts'
import { type ManualClock, manualClock, START, startTestSandbox } from './support.ts'

/** Enough real time for a change of the lists at speed 60. */
const SOON_MS = 75_000
const LISTS = ['', '/with-availability', '/csv']

let sandbox: Sandbox
let clock: ManualClock
beforeAll(async () => {
  clock = manualClock(START)
  sandbox = await startTestSandbox({ clock, speed: 60 })
})
beforeEach(() => {
  sandbox.setFaults([])
  clock.advance(SOON_MS)
})
afterAll(() => sandbox.close())

function pull(path: string, headers: Record<string, string> = {}): Promise<Received> {
  return sendRequest(`${sandbox.url}/api/v1/data/routes${path}`, { headers }).done
}

/** The validators that a second request of the same list can send. */
async function validatorsOf(path: string) {
  const { headers } = await pull(path)
  return { etag: headers.etag ?? '', modified: headers['last-modified'] ?? '' }
}

it.each(LISTS)('routes%s has a version, and the client that has it gets 304', async (path) => {
  const { etag, modified } = await validatorsOf(path)

  const byTag = await pull(path, { 'if-none-match': etag })
  const byDate = await pull(path, { 'if-modified-since': modified })

  expect(etag).toMatch(/^"[\w-]{22}"$/)
  expect(modified).toBe(clock.now().toUTCString())
  for (const received of [byTag, byDate]) {
    expect(received.status).toBe(304)
    expect(received.headers.etag).toBe(etag)
    expect(received.headers['content-length']).toBeUndefined()
    expect(received.body.length).toBe(0)
  }
})

it.each(LISTS)('routes%s is sent again when it has changed', async (path) => {
  const { etag, modified } = await validatorsOf(path)
  clock.advance(100 * SOON_MS)

  const byTag = await pull(path, { 'if-none-match': etag })
  const byDate = await pull(path, { 'if-modified-since': modified })

  expect(byTag).toMatchObject({ status: 200, complete: true })
  expect(byTag.headers.etag).not.toBe(etag)
  expect(byDate).toMatchObject({ status: 200, complete: true })
})

it.each([
  ['*', 304],
  ['"other"', 200],
  ['', 200],
])('a list answers If-None-Match: %s with %i', async (tag, status) => {
  expect((await pull('', { 'if-none-match': tag })).status).toBe(status)
})
