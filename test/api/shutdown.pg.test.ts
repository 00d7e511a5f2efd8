import { once } from 'node:events'
import net from 'node:net'
import { describe, expect } from 'vitest'
import { manyRoutes, sync } from '../route-sync/sync-fixtures.ts'
import { newKeyText } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { startApiProcess } from './api-process.ts'

const MANY = 40_000

/** A client that reads nothing until the test lets it. */
async function readLater(port: number, key: string): Promise<net.Socket> {
  const socket = net.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.pause()
  socket.write(
    `GET /api/v1/data/routes HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`,
  )
  return socket
}

describe('an API that stops', () => {
  it('a stopping API completes the running response and accepts no new request', async ({
    db,
    databaseUrl,
  }) => {
    await sync(db, manyRoutes(MANY))
    const { api, url } = await startApiProcess(databaseUrl)
    const port = Number(url.port)
    const reader = await readLater(port, await newKeyText(db))
    await once(reader, 'readable')

    api.child.kill('SIGTERM')
    await until('that it refuses connections', async () => {
      const socket = net.connect(port, '127.0.0.1')
      const refused = await once(socket, 'connect').then(
        () => false,
        () => true,
      )
      socket.destroy()
      return refused
    })
    let output = ''
    for await (const chunk of reader) output += String(chunk)

    expect(output).toMatch(/^HTTP\/1\.1 200/)
    expect(output.match(/"departure"/g)).toHaveLength(MANY)
    expect(output.trimEnd()).toMatch(/\](\r\n0)?$/)
    expect(await api.ended).toBe(0)
  })
})
