import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listenLocally } from '../support/local-server.ts'

export type Answer = (request: IncomingMessage, response: ServerResponse) => void

export interface AnsweringServer extends AsyncDisposable {
  readonly url: string
  /** Path and query of every request, in order. */
  readonly requests: readonly string[]
}

/** A real server on a free port of this machine. It answers every request the same way. */
export async function answering(answer: Answer): Promise<AnsweringServer> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    // Many tests let the client hang up during the answer.
    response.on('error', () => undefined)
    answer(request, response)
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    requests,
    [Symbol.asyncDispose]: close,
  }
}

/** A 200 of JSON with these bytes. */
export function json(body: string | Uint8Array, headers: Record<string, string> = {}): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers })
    response.end(body)
  }
}

/** Writes an answer directly to the socket, because no HTTP library would send it. */
export function raw(text: string): Answer {
  return (_request, { socket }) => {
    socket?.on('error', () => undefined)
    socket?.end(text)
  }
}
