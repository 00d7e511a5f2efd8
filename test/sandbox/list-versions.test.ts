import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { LogPage } from '../../src/sandbox/endpoints/request-log.ts'
import type { Sandbox } from '../../src/sandbox/sandbox-server.ts'
import { ask, type Received } from './raw-client.ts'
import { type ManualClock, manualClock, START, startTestSandbox } from './support.ts'

/** Of the clock at speed 60: enough for another list. */
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
  return ask(`${sandbox.url}/api/v1/data/routes${path}`, { headers }).done
}

/** The validators that a second request of the same list is offered. */
async function validatorsOf(path: string) {
  const { headers } = await pull(path)
  return { etag: headers.etag ?? '', modified: headers['last-modified'] ?? '' }
}

it.each(LISTS)('says of routes%s which version it is, and sends it once', async (path) => {
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

it.each(LISTS)('sends routes%s again when it has changed', async (path) => {
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
])('answers If-None-Match: %s with %i', async (tag, status) => {
  expect((await pull('', { 'if-none-match': tag })).status).toBe(status)
})

it('takes a tag among others, and a weak one', async () => {
  const { etag } = await validatorsOf('')

  expect((await pull('', { 'if-none-match': `"other", W/${etag}` })).status).toBe(304)
})

it('looks at the tag alone where both are sent, and at no date that is none', async () => {
  const { modified } = await validatorsOf('')

  const both = await pull('', { 'if-none-match': '"other"', 'if-modified-since': modified })
  const garbage = await pull('', { 'if-modified-since': 'yesterday' })

  expect([both.status, garbage.status]).toEqual([200, 200])
})

it('offers no date before its second has come, so that no two lists share one', async () => {
  const second = clock.now()
  clock.advance(500)
  const early = await validatorsOf('')
  clock.advance(500)
  const inTime = await validatorsOf('')

  expect(early.modified).toBe('')
  expect(inTime.modified).toBe(new Date(second.getTime() + 1000).toUTCString())
})

it('logs a list that was not sent as 304', async () => {
  const { etag } = await validatorsOf('')
  await pull('', { 'if-none-match': etag })

  const page = (await (await fetch(`${sandbox.url}/sandbox/log`)).json()) as LogPage

  expect(page.entries.at(-1)).toMatchObject({ endpoint: 'routes', outcome: { status: 304 } })
})

it('says of a spoilt list that it is another version', async () => {
  const { etag } = await validatorsOf('')
  sandbox.setFaults([{ name: 'half-list' }])

  const half = await pull('', { 'if-none-match': etag })

  expect(half.status).toBe(200)
  expect(half.headers.etag).not.toBe(etag)
})

it('sends no half of a list that the client has whole, and nothing in its place', async () => {
  const { etag } = await validatorsOf('')
  sandbox.setFaults([{ name: 'truncate' }])

  const received = await pull('', { 'if-none-match': etag })

  expect(received).toMatchObject({ status: 200, complete: false, headers: { etag } })
})
