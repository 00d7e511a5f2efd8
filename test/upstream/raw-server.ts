import net from 'node:net'
import { listenLocally } from '../support/local-server.ts'

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
  const server = net.createServer({ noDelay: true }, (socket) => {
    // A client that needs no more bytes hangs up first.
    socket.on('error', () => undefined)
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
  const { url, close } = await listenLocally(server)
  return {
    url,
    answer(pieces, ending) {
      script = { pieces, ending }
    },
    [Symbol.asyncDispose]: close,
  }
}
