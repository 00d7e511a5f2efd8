import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A door of ours before a store, at which tests make its network bad. The store itself goes on for others. */
export interface TcpProxy {
  readonly port: number
  /** Cuts all connections and refuses new ones. */
  shut(): Promise<void>
  /** Lets connections in again. */
  open(): Promise<void>
  /** Resets all connections; new ones are let in at once. */
  cut(): void
  /** Whatever is sent from now on arrives so many milliseconds later, both ways; 0 ends it. */
  slow(ms: number): void
  /** Nothing arrives any more, and nobody is told; new connections stand, and are not answered. */
  stall(): void
  /** Ends `stall`: what was sent meanwhile arrives. */
  resume(): void
  /**
   * The store sees the connections that stand end; its clients do not, and what they send is lost, as after a
   * failover, or when a firewall forgets a connection. New ones work.
   */
  halfOpen(): void
  close(): Promise<void>
}

interface Weather {
  delayMs: number
  /** Resolves when bytes may pass. */
  clear: Promise<void>
  endHole: () => void
}

interface Link {
  readonly near: Socket
  readonly far: Socket
}

export async function createTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const weather: Weather = { delayMs: 0, clear: Promise.resolve(), endHole: () => undefined }
  const links = new Set<Link>()
  /** Clients' ends without another end. */
  const orphans = new Set<Socket>()
  let server = await listen(0)
  const { port } = server.address() as AddressInfo

  async function listen(onPort: number): Promise<Server> {
    const fresh = createServer({ noDelay: true, pauseOnConnect: true }, (near) => {
      orphan(near)
      void weather.clear.then(() => join(near))
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
    carry({ from: near, to: link.far, weather })
    carry({ from: link.far, to: near, weather })
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
      weather.delayMs = ms
    },
    stall: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      weather.clear = promise
      weather.endHole = resolve
    },
    resume: () => weather.endHole(),
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
      weather.endHole()
      await shut()
    },
  }
}

/** Hands the bytes on in order, each chunk after the delay that held when it came, and then the end. */
function carry({ from, to, weather }: { from: Socket; to: Socket; weather: Weather }): void {
  let last: Promise<void> = Promise.resolve()
  const then = (act: () => void) => {
    const dueMs = performance.now() + weather.delayMs
    last = last.then(async () => {
      const waitMs = dueMs - performance.now()
      if (waitMs > 0) await delay(waitMs)
      await weather.clear
      if (!to.destroyed) act()
    })
  }
  from.on('data', (chunk) => then(() => to.write(chunk)))
  from.on('close', () => then(() => to.destroySoon()))
  from.on('error', () => from.destroy())
}
