import { once } from 'node:events'
import net from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHttpServer, drainOnClose, listen } from '../../../src/platform/http/server.ts'
import { silentLog } from '../../support/silent-log.ts'
import { until } from '../../support/until.ts'

/** A server with an endpoint whose responses wait until the test releases them. */
async function aSlowServer({ drainMs }: { drainMs: number }) {
  const server = createHttpServer({ log: silentLog })
  const asked: (() => void)[] = []
  server.get('/slow', async () => {
    await new Promise<void>((resolve) => asked.push(resolve))
    return { whole: true }
  })
  server.get('/quick', async () => ({ quick: true }))
  server.get('/large', async () => Buffer.alloc(LARGE, 'x'))
  drainOnClose(server, drainMs)
  onTestFinished(() => server.close())
  const base = await listen(server, { host: '127.0.0.1', port: 0, setting: 'API_PORT' })
  return {
    server,
    base,
    port: Number(new URL(base).port),
    untilAsked: () => until('the request', () => asked.length > 0),
    untilDraining: () => until('the drain', () => !server.server.listening),
    answerAll: () => asked.forEach((release) => void release()),
  }
}

async function connect(port: number): Promise<net.Socket> {
  const socket = net.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

/** Longer than the timeout of a test: a server that waits for it fails the test. */
const LONG_MS = 600_000
/** More bytes than the socket buffers of the system hold. */
const LARGE = 30_000_000

describe('closing a server', () => {
  it('a closing server answers the requests in progress and accepts no new connection', async () => {
    const slow = await aSlowServer({ drainMs: LONG_MS })
    const answer = fetch(`${slow.base}/slow`)
    await slow.untilAsked()

    const closed = slow.server.close()
    await slow.untilDraining()
    await expect(connect(slow.port)).rejects.toThrow('ECONNREFUSED')
    slow.answerAll()

    expect(await (await answer).json()).toEqual({ whole: true })
    await closed
  })

  it('a closing server cuts off requests that are not answered in time', async () => {
    const slow = await aSlowServer({ drainMs: 50 })
    const answer = fetch(`${slow.base}/slow`)
    answer.catch(() => undefined)
    await slow.untilAsked()

    await slow.server.close()

    await expect(answer).rejects.toThrow()
  })
})
