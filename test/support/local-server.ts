import { once } from 'node:events'
import type net from 'node:net'

/** Opens a server on a free port of this machine. `close` cuts off its clients. */
export async function listenLocally(
  server: net.Server,
): Promise<{ readonly url: string; readonly port: number; close(): Promise<void> }> {
  const sockets = new Set<net.Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
