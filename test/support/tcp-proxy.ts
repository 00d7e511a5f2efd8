import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A TCP proxy before a store. Tests degrade its network without affecting other users of the store. */
export interface TcpProxy {
  readonly port: number
  /** Resets all connections and refuses new ones. */
  shut(): Promise<void>
  /** Accepts connections again after `shut`. */
  open(): Promise<void>
  /** Resets all connections. New ones are accepted at once. */
  cut(): void
  /** Delays all bytes in both directions from now on; 0 ends the delay. */
  slow(ms: number): void
  /** Holds all bytes back without an error on either side. New connections are accepted and get no answer. */
  stall(): void
  /** Ends `stall` and delivers the bytes that were held back. */
  resume(): void
  /**
   * Closes the open connections on the side of the store only. The clients do not notice, and the bytes that they send are
   * lost, as after a failover or when a firewall drops its state. New connections work.
   */
  halfOpen(): void
  close(): Promise<void>
}

interface NetworkState {
  delayMs: number
  /** Resolves when bytes may pass. */
  flowing: Promise<void>
  endStall: () => void
}

interface Link {
  readonly near: Socket
  readonly far: Socket
}

export async function createTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const network: NetworkState = {
    delayMs: 0,
    flowing: Promise.resolve(),
    endStall: () => undefined,
  }
  const links = new Set<Link>()
  /** Client sockets without a socket to the store. */
  const orphans = new Set<Socket>()
  let server = await listen(0)
  const { port } = server.address() as AddressInfo

  async function listen(onPort: number): Promise<Server> {
    const fresh = createServer({ noDelay: true, pauseOnConnect: true }, (near) => {
      orphan(near)
      void network.flowing.then(() => join(near))
    })
    fresh.listen(onPort, '127.0.0.1')
    await once(fresh, 'listening')
    return fresh
  }

  function orphan(near: Socket): void {
    orphans.add(near)
    near.on('error', () => near.destroy())
    near.on('close', () => orphans.delete(near))
  }

  function join(near: Socket): void {
    if (near.destroyed) return
    orphans.delete(near)
    const link = { near, far: connect({ ...target, noDelay: true }) }
    links.add(link)
    carry({ from: near, to: link.far, network })
    carry({ from: link.far, to: near, network })
    for (const socket of [near, link.far]) {
      socket.on('close', () => {
        if (near.closed && link.far.closed) links.delete(link)
      })
    }
    near.resume()
  }

  function cut(): void {
    for (const { near, far } of links) {
      near.resetAndDestroy()
      far.resetAndDestroy()
    }
    for (const near of orphans) near.resetAndDestroy()
  }

  async function shut(): Promise<void> {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    cut()
    await closed
  }

  return {
    port,
    shut,
    open: async () => {
      if (!server.listening) server = await listen(port)
    },
    cut,
    slow: (ms) => {
      network.delayMs = ms
    },
    stall: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      network.flowing = promise
      network.endStall = resolve
    },
    resume: () => network.endStall(),
    halfOpen: () => {
      for (const link of links) {
        links.delete(link)
        link.near.removeAllListeners().resume()
        orphan(link.near)
        link.far.removeAllListeners().on('error', () => undefined)
        link.far.destroy()
      }
    },
    close: async () => {
      network.endStall()
      await shut()
    },
  }
}

/** Forwards chunks in order, each after the delay that applied on its arrival, and then the end of the stream. */
function carry({ from, to, network }: { from: Socket; to: Socket; network: NetworkState }): void {
  let last: Promise<void> = Promise.resolve()
  const then = (act: () => void) => {
    const dueMs = performance.now() + network.delayMs
    last = last.then(async () => {
      const waitMs = dueMs - performance.now()
      if (waitMs > 0) await delay(waitMs)
      await network.flowing
      if (!to.destroyed) act()
    })
  }
  from.on('data', (chunk) => then(() => to.write(chunk)))
  from.on('close', () => then(() => to.destroySoon()))
  from.on('error', () => from.destroy())
}
