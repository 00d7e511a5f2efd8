import { once } from 'node:events'
import net from 'node:net'
import { describe, expect, onTestFinished, it as test } from 'vitest'
import { createTcpProxy, type TcpProxy } from './tcp-proxy.ts'
import { until } from './until.ts'

interface Ground {
  readonly door: TcpProxy
  /** The store's ends, in the order in which they came. */
  readonly accepted: net.Socket[]
  /** A client, once it is connected; what it has heard is in `heard`. */
  connect(): Promise<Client>
}

interface Client {
  readonly socket: net.Socket
  heard(): string
  say(text: string): void
}

/** A store that says everything back, behind a door. */
const it = test.extend<{ ground: Ground }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from this pattern
  ground: async ({}, use) => {
    const accepted: net.Socket[] = []
    const store = net.createServer((socket) => {
      accepted.push(socket)
      socket.on('error', () => undefined)
      socket.pipe(socket)
    })
    store.listen(0, '127.0.0.1')
    await once(store, 'listening')
    const { port } = store.address() as net.AddressInfo
    const door = await createTcpProxy({ host: '127.0.0.1', port })
    await use({ door, accepted, connect: () => connectTo(door.port) })
    await door.close()
    store.close()
  },
})

async function connectTo(port: number): Promise<Client> {
  const socket = net.connect(port, '127.0.0.1')
  let heard = ''
  socket.on('data', (chunk) => {
    heard += String(chunk)
  })
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return { socket, heard: () => heard, say: (text) => void socket.write(text) }
}

function closeOf(socket: net.Socket | undefined): Promise<void> {
  return new Promise((resolve) => socket?.once('close', () => resolve()))
}

/** A client that has been heard through the door. */
async function known({ connect }: Ground): Promise<Client> {
  const client = await connect()
  client.say('a')
  await until('an answer', () => client.heard() === 'a')
  return client
}

describe('the door before a store', () => {
  it('lets bytes through in order, however slow', async ({ ground }) => {
    const client = await known(ground)
    ground.door.slow(100)
    const from = performance.now()

    client.say('b')
    client.say('c')
    await until('the answers', () => client.heard() === 'abc')

    expect(performance.now() - from).toBeGreaterThan(195)
  })

  it('cuts what stands, and lets others in', async ({ ground }) => {
    const client = await known(ground)
    const closed = closeOf(client.socket)

    ground.door.cut()

    await closed
    await known(ground)
  })

  it('refuses everybody while it is shut', async ({ ground }) => {
    await ground.door.shut()
    await expect(ground.connect()).rejects.toThrow(/ECONNREFUSED/)

    await ground.door.open()
    await known(ground)
  })

  it('swallows what is sent, and gives it when it is healed', async ({ ground }) => {
    const before = await known(ground)
    ground.door.swallow()
    const during = await ground.connect()
    before.say('b')
    during.say('x')
    expect([before.heard(), during.heard()]).toEqual(['a', ''])

    ground.door.heal()

    await until('the answers', () => before.heard() === 'ab' && during.heard() === 'x')
  })

  it('leaves a client alone whose store has seen it go', async ({ ground }) => {
    const client = await known(ground)
    const [storesEnd] = ground.accepted
    const gone = closeOf(storesEnd)

    ground.door.halfOpen()
    await gone
    client.say('b')
    await known(ground)

    expect(client.socket.closed).toBe(false)
    expect(client.heard()).toBe('a')
  })
})
