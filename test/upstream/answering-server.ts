import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Answer = (request: IncomingMessage, response: ServerResponse) => void

export interface AnsweringServer extends AsyncDisposable {
  readonly url: string
  /** Path and query of every request, in order. */
  readonly requests: readonly string[]
}

/** A real server on a free port of this machine that answers every request in one way. */
export async function answering(answer: Answer): Promise<AnsweringServer> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    // A client that hangs up in mid-answer is what many of these tests are about.
    response.on('error', () => undefined)
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A 200 of JSON with these bytes. */
export function json(body: string | Uint8Array, headers: Record<string, string> = {}): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers })
    response.end(body)
  }
}

/** An answer written straight to the socket, for what no HTTP library would send. */
export function raw(text: string): Answer {
  return (_request, { socket }) => {
    socket?.on('error', () => undefined)
    socket?.end(text)
  }
}
