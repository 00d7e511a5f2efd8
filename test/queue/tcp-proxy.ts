import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A door before a store that tests may close: the store itself goes on for others. */
export interface TcpProxy {
  readonly port: number
  /** Cuts all connections and refuses new ones. */
  shut(): Promise<void>
  /** Lets connections in again. */
  open(): Promise<void>
  /** Cuts all connections; new ones are let in at once. */
  cut(): void
  /** Silences the connections that stand, without closing them; new ones work. */
  silence(): void
  close(): Promise<void>
}

export async function createTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let server = await listen(0)
  const { port } = server.address() as AddressInfo

  async function listen(onPort: number): Promise<Server> {
    const fresh = createServer((near) => {
      const far = connect(target)
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(socket)
        socket.on('error', () => other.destroy())
        socket.on('close', () => {
          sockets.delete(socket)
          other.destroy()
        })
        socket.pipe(other)
      }
    })
    fresh.listen(onPort, '127.0.0.1')
    await once(fresh, 'listening')
    return fresh
  }

  function cut(): void {
    for (const socket of sockets) socket.destroy()
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
    silence: () => {
      for (const socket of sockets) {
        socket.unpipe()
        socket.pause()
      }
    },
    close: shut,
  }
}
