import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { PRIVATE_SCHEMA } from '../../../src/platform/db/database.ts'

interface PoolerBehaviour {
  /** How long a client keeps a session of the server. */
  readonly mode: 'session' | 'transaction'
  /** What happens to the options that a client sets. By default the sessions of the server have ours. */
  readonly options?: 'dropped' | 'refused'
}

const SSL_REQUEST = 80877103

/**
 * Speaks the protocol of PostgreSQL as PgBouncer does: it answers the start of a session itself, with a key of its own, and
 * gives what follows to one of two sessions of the server, the last one that became free. Returns its address.
 */
export async function startPooler(url: string, behaviour: PoolerBehaviour): Promise<string> {
  const options = behaviour.options === undefined ? `-c search_path=${PRIVATE_SCHEMA}` : ''
  const free = [await openSession(url, options), await openSession(url, options)]
  const waiting: ((session: Socket) => void)[] = []
  const take = async () => free.pop() ?? new Promise<Socket>((resolve) => waiting.push(resolve))
  const handOn = (session: Socket) => {
    session.removeAllListeners('data')
    const next = waiting.shift()
    if (next === undefined) free.push(session)
    else next(session)
  }

  const server = createServer((client) => {
    client.on('error', () => undefined)
    let session: Promise<Socket> | undefined
    const release = async () => {
      const lent = session
      session = undefined
      if (lent !== undefined) handOn(await lent)
    }
    const lend = async () => {
      const lent = await take()
      const isIdle = idleWatch()
      lent.on('data', (chunk: Buffer) => {
        client.write(chunk)
        if (isIdle(chunk) && behaviour.mode === 'transaction') void release()
      })
      return lent
    }
    let isStarted = false
    client.on('data', async (chunk: Buffer) => {
      if (!isStarted) {
        if (chunk.readInt32BE(4) === SSL_REQUEST) return client.write('N')
        isStarted = true
        return client.write(behaviour.options === 'refused' ? REFUSAL : GREETING)
      }
      if (chunk.toString('latin1', 0, 1) === 'X') return client.end()
      session ??= lend()
      return (await session).write(chunk)
    })
    client.on('close', () => void release())
  })
  return listen(server, url)
}

/** A session of the server as a socket, past its start. */
async function openSession(connectionString: string, options: string): Promise<Socket> {
  const client = new pg.Client({ connectionString, options })
  client.on('error', () => undefined)
  await client.connect()
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  stream.removeAllListeners('data')
  onTestFinished(() => void stream.destroy())
  return stream
}

/** Whether the server says, at the end of what it has sent so far, that no transaction runs. */
function idleWatch(): (chunk: Buffer) => boolean {
  let rest = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    let isIdle = false
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const length = 1 + rest.readInt32BE(1)
      isIdle = rest.toString('latin1', 0, 1) === 'Z' && rest.toString('latin1', 5, 6) === 'I'
      rest = rest.subarray(length)
    }
    return isIdle
  }
}

/** A message of the server. */
function message(type: string, ...parts: readonly (number | string)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => {
      if (typeof part === 'string') return Buffer.from(part, 'latin1')
      const number = Buffer.alloc(4)
      number.writeInt32BE(part)
      return number
    }),
  )
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}

const GREETING = Buffer.concat([message('R', 0), message('K', 1, 1), message('Z', 'I')])
const REFUSAL = message('E', 'SFATAL\0C08P01\0Munsupported startup parameter: options\0\0')

/** A server of another major version: its answers name that one. */
export async function startOlderServer(url: string, major: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) socket.on('error', () => undefined)
    client.pipe(upstream)
    upstream.on('data', (chunk: Buffer) => {
      client.write(
        Buffer.from(chunk.toString('latin1').replaceAll(/\b18(?=\.\d+)/g, major), 'latin1'),
      )
    })
    upstream.on('close', () => client.end())
    client.on('close', () => upstream.destroy())
  })
  return listen(server, url)
}

/** The same address at the port of a server that ends with the test. */
async function listen(server: Server, url: string): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = new URL(url)
  address.hostname = '127.0.0.1'
  address.port = String((server.address() as AddressInfo).port)
  return address.href
}
