import { once } from 'node:events'
import net from 'node:net'

/** How a connection ends after the bytes are written. */
export type Ending = 'fin' | 'reset'

export interface RawServer extends AsyncDisposable {
  readonly url: string
  /** Answers the next requests with exactly these bytes, in these pieces. */
  answer(pieces: readonly Uint8Array[], ending: Ending): void
}

/** A TCP server that waits for the head of a request, writes the given bytes, and hangs up. */
export async function startRawServer(): Promise<RawServer> {
  let script: { pieces: readonly Uint8Array[]; ending: Ending } = { pieces: [], ending: 'fin' }
  const sockets = new Set<net.Socket>()
  const server = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    // A client that needs no more bytes hangs up first.
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    let head = ''
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1')
      if (!head.includes('\r\n\r\n')) return
      head = ''
      for (const piece of script.pieces) socket.write(piece)
      if (script.ending === 'fin') socket.end()
      else socket.write('', () => socket.resetAndDestroy())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    answer(pieces, ending) {
      script = { pieces, ending }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
