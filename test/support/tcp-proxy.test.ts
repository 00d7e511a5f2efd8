import { once } from 'node:events'
import net from 'node:net'
import { describe, expect, onTestFinished, it as test } from 'vitest'
import { createTcpProxy, type TcpProxy } from './tcp-proxy.ts'
import { until } from './until.ts'

interface ProxyFixture {
  readonly proxy: TcpProxy
  /** The sockets of the store, in the order in which it accepted them. */
  readonly accepted: net.Socket[]
  /** Resolves when the client is connected. */
  connect(): Promise<Client>
}

interface Client {
  readonly socket: net.Socket
  received(): string
  send(text: string): void
}

/** An echo server behind the proxy. */
const it = test.extend<{ fixture: ProxyFixture }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from this pattern
  fixture: async ({}, use) => {
    const accepted: net.Socket[] = []
    const store = net.createServer((socket) => {
      accepted.push(socket)
      socket.on('error', () => undefined)
      socket.pipe(socket)
    })
    store.listen(0, '127.0.0.1')
    await once(store, 'listening')
    const { port } = store.address() as net.AddressInfo
    const proxy = await createTcpProxy({ host: '127.0.0.1', port })
    await use({ proxy, accepted, connect: () => connectTo(proxy.port) })
    await proxy.close()
    store.close()
  },
})

async function connectTo(port: number): Promise<Client> {
  const socket = net.connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (chunk) => {
    received += String(chunk)
  })
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return { socket, received: () => received, send: (text) => void socket.write(text) }
}

function closeOf(socket: net.Socket | undefined): Promise<void> {
  return new Promise((resolve) => socket?.once('close', () => resolve()))
}

/** Connects a client and waits for its first echo. */
async function connectAndEcho({ connect }: ProxyFixture): Promise<Client> {
  const client = await connect()
  client.send('a')
  await until('an answer', () => client.received() === 'a')
  return client
}

describe('the TCP proxy', () => {
  it('delivers delayed bytes in order', async ({ fixture }) => {
    const client = await connectAndEcho(fixture)
    fixture.proxy.slow(100)
    client.send('b')
    client.send('c')

    await until('the answers', () => client.received() === 'abc')
  })

  it('closes open connections on a cut and accepts new ones', async ({ fixture }) => {
    const client = await connectAndEcho(fixture)
    const closed = closeOf(client.socket)

    fixture.proxy.cut()

    await closed
    await connectAndEcho(fixture)
  })

  it('refuses connections while it is shut', async ({ fixture }) => {
    await fixture.proxy.shut()
    await expect(fixture.connect()).rejects.toThrow(/ECONNREFUSED/)

    await fixture.proxy.open()
    await connectAndEcho(fixture)
  })

  it('holds bytes back during a stall and delivers them when it resumes', async ({ fixture }) => {
    const before = await connectAndEcho(fixture)
    fixture.proxy.stall()
    const during = await fixture.connect()
    before.send('b')
    during.send('x')
    expect([before.received(), during.received()]).toEqual(['a', ''])

    fixture.proxy.resume()

    await until('the answers', () => before.received() === 'ab' && during.received() === 'x')
  })

  it('keeps the client of a half-open connection connected after the store has closed it', async ({
    fixture,
  }) => {
    const client = await connectAndEcho(fixture)
    const [storesEnd] = fixture.accepted
    const gone = closeOf(storesEnd)

    fixture.proxy.halfOpen()
    await gone
    client.send('b')
    await connectAndEcho(fixture)

    expect(client.socket.closed).toBe(false)
    expect(client.received()).toBe('a')
  })
})
