import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Answer } from './answers.ts'

export interface HostileUpstream extends AsyncDisposable {
  readonly url: string
  /** The answer to every request from now on. */
  answerWith(answer: Answer): void
}

/** Serves one answer at a time on a free port of this machine. */
export async function startHostileUpstream(first: Answer = {}): Promise<HostileUpstream> {
  let current = first
  const server = createServer((_request, response) => {
    send(response, current)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    answerWith: (answer) => {
      current = answer
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const BYTE_EVERY_MS = 100

function send(
  response: ServerResponse,
  { status = 200, headers = {}, body = '', wire }: Answer,
): void {
  const bytes = Buffer.from(body)
  const half = bytes.subarray(0, Math.ceil(bytes.length / 2))
  const head = () => response.writeHead(status, headers as Record<string, string | string[]>)
  switch (wire) {
    case undefined:
      head().end(bytes)
      return
    case 'reset':
      response.socket?.resetAndDestroy()
      return
    case 'garbage':
      response.socket?.end('220 ready for mail\r\n\r\n')
      return
    case 'silent':
      return
    case 'silent-in-body':
      head().write(half)
      return
    case 'reset-in-body':
      head().write(half, () => response.socket?.resetAndDestroy())
      return
    case 'truncated':
      head().write(half, () => response.socket?.end())
      return
    case 'byte-by-byte':
      drip(head(), bytes)
  }
}

function drip(response: ServerResponse, bytes: Buffer): void {
  let sent = 0
  const timer = setInterval(() => {
    response.write(bytes.subarray(sent, sent + 1))
    sent += 1
  }, BYTE_EVERY_MS)
  response.on('close', () => clearInterval(timer))
}
