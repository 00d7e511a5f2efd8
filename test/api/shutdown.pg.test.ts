import { describe, expect } from 'vitest'
import { listApiKeys, revokeApiKey } from '../../src/resellers/api-keys.ts'
import { newKeyText } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { startApiProcess } from './api-process.ts'
import { appendRecords } from './append-records.ts'
import { openEvents } from './event-client.ts'
import { fareOf, listWith, newCaller, watch } from './reseller-calls.ts'

describe('an API that stops', () => {
  it('its streams get new records, and end when their key is revoked or the process stops', async ({
    db,
    databaseUrl,
  }) => {
    const { api, url } = await startApiProcess(databaseUrl)
    const ana = await newCaller(db, url.origin, 'ana')
    const another = await newKeyText(db, { resellerId: ana.resellerId })
    await listWith(ana, 'summer', [watch('A-1'), watch('B-1', { flightId: '102' })])
    const path = `${url.origin}/api/v1/watch-changes/stream`
    const revoked = await openEvents(path, { key: ana.key })
    const stopped = await openEvents(path, { key: another })

    const fares = [await fareOf(db, '101'), await fareOf(db, '102')]
    await appendRecords(db, { resellerId: ana.resellerId, fares, count: 2, padding: 0 })
    const events = await Promise.all([revoked.events(2), stopped.events(2)])
    await revokeApiKey(db, (await listApiKeys(db))[0]?.id ?? 0)
    const last = (await revoked.rest()).at(-1)
    api.child.kill('SIGTERM')
    const [retry] = (await stopped.rest()).slice(-1)

    expect(events.map((found) => found.map(({ id }) => id))).toEqual([
      ['1', '2'],
      ['1', '2'],
    ])
    expect(last).toMatchObject({ event: 'problem', data: { code: 'access.unknown_key' } })
    expect(retry).toEqual({ retry: expect.any(Number) })
    expect(await api.ended).toBe(0)
  })
})
