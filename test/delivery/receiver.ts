import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { Target } from '../../src/delivery/formats/format.ts'
import { listenLocally } from '../support/local-server.ts'
import { TARGET } from './message-fixtures.ts'

export interface ReceivedRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Receiver extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly requests: readonly ReceivedRequest[]
  /** Resolves when the connections that were ever opened are closed. */
  allClosed(): Promise<void>
}

export type Answer = (request: ReceivedRequest, response: ServerResponse) => void

/** A real receiver on a free port of this machine. */
export async function startReceiver(
  answer: Answer = (_request, response) => void response.end(),
): Promise<Receiver> {
  const requests: ReceivedRequest[] = []
  const closed: Promise<void>[] = []
  const server = createServer((incoming, response) => {
    response.on('error', () => undefined)
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const { url: path = '', headers } = incoming
      const request = { path, headers, body: Buffer.concat(chunks).toString() }
      requests.push(request)
      answer(request, response)
    })
  })
  server.on('connection', (socket) => {
    closed.push(new Promise((resolve) => void socket.once('close', () => resolve())))
    // A client that has read enough hangs up first.
    socket.on('error', () => undefined)
  })
  const { url, port, close } = await listenLocally(server)
  return {
    url,
    port,
    requests,
    allClosed: async () => void (await Promise.all(closed)),
    [Symbol.asyncDispose]: close,
  }
}

export function targetOf(address: string, secrets: readonly string[] = []): Target {
  return { ...TARGET, endpointId: '00000000-0000-7000-8000-000000000001', address, secrets }
}
