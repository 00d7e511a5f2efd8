import http from 'node:http'
import { listenLocally } from './local-server.ts'

/** A proxy before an upstream that answers a share of the requests itself, with a fault. */
export interface FaultyProxy {
  readonly url: string
  /** The number of corrupted answers by the name of the fault. */
  readonly corrupted: Readonly<Record<string, number>>
  /** When each request arrived, in milliseconds, with or without a fault. */
  readonly requestsMs: readonly number[]
  close(): Promise<void>
}

type Fault = (response: http.ServerResponse) => void

const json = (status: number, body: string, headers: Record<string, string> = {}): Fault => {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(body)
  }
}

const FAULTS: Readonly<Record<string, Fault>> = {
  http_500: json(500, '{"error":"oops"}'),
  http_503: json(503, ''),
  html: (response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end('<html>maintenance</html>')
  },
  empty_object: json(200, '{}'),
  array: json(200, '[]'),
  null: json(200, 'null'),
  false_for_another: json(200, '{"999999999":{"available":false}}'),
  text_false: json(200, '{"available":"false"}'),
  truncated: json(200, '{"1":{"available":fal', { 'content-length': '400' }),
  reset: (response) => void response.socket?.destroy(),
}

/** @param random uniform in [0, 1). A seeded generator makes the faults repeatable. */
export async function startFaultyProxy(
  target: string,
  share: number,
  random: () => number,
): Promise<FaultyProxy> {
  const corrupted: Record<string, number> = {}
  const requestsMs: number[] = []
  const names = Object.keys(FAULTS)
  const server = http.createServer((request, response) => {
    requestsMs.push(Date.now())
    if (random() < share) {
      const name = names[Math.floor(random() * names.length)] ?? 'reset'
      corrupted[name] = (corrupted[name] ?? 0) + 1
      FAULTS[name]?.(response)
      return
    }
    const forward = http.request(
      `${target}${request.url ?? '/'}`,
      { headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      },
    )
    forward.on('error', () => response.destroy())
    request.pipe(forward)
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    corrupted,
    requestsMs,
    close,
  }
}
