import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { LogPage } from '../../sandbox/operations/request-log.ts'
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

it('a list accepts its ETag among others, and a weak one', async () => {
  const { etag } = await validatorsOf('')

  expect((await pull('', { 'if-none-match': `"other", W/${etag}` })).status).toBe(304)
})

it('a list ignores the date if an ETag is sent, and an invalid date', async () => {
  const { modified } = await validatorsOf('')

  const both = await pull('', { 'if-none-match': '"other"', 'if-modified-since': modified })
  const garbage = await pull('', { 'if-modified-since': 'yesterday' })

  expect([both.status, garbage.status]).toEqual([200, 200])
})

it('a list has no Last-Modified before that second has passed, so that two lists never share one', async () => {
  const second = clock.now()
  clock.advance(500)
  const early = await validatorsOf('')
  clock.advance(500)
  const inTime = await validatorsOf('')

  expect(early.modified).toBe('')
  expect(inTime.modified).toBe(new Date(second.getTime() + 1000).toUTCString())
})

it('the log records a list that was not sent as 304', async () => {
  const { etag } = await validatorsOf('')
  await pull('', { 'if-none-match': etag })

  const page = (await (await fetch(`${sandbox.url}/sandbox/log`)).json()) as LogPage

  expect(page.entries.at(-1)).toMatchObject({ endpoint: 'routes', outcome: { status: 304 } })
})

it('a list that a fault changed is another version', async () => {
  const { etag } = await validatorsOf('')
  sandbox.setFaults([{ name: 'half-list' }])

  const half = await pull('', { 'if-none-match': etag })

  expect(half.status).toBe(200)
  expect(half.headers.etag).not.toBe(etag)
})

it('a fault that sends half a list also applies to a client that has the list', async () => {
  const { etag } = await validatorsOf('')
  sandbox.setFaults([{ name: 'truncate' }])

  const received = await pull('', { 'if-none-match': etag })

  expect(received).toMatchObject({ status: 200, complete: false, headers: { etag } })
})
