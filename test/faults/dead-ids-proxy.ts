import http from 'node:http'
import { listenLocally } from '../support/local-server.ts'

/** A proxy that answers 404 for flights whose id begins with `dead-`, and forwards all other requests. */
export interface DeadIdsProxy {
  readonly url: string
  close(): Promise<void>
}

export async function startDeadIdsProxy(target: string): Promise<DeadIdsProxy> {
  const agent = new http.Agent({ keepAlive: true })
  const server = http.createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', target)
    if (searchParams.get('flightId')?.startsWith('dead-')) {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"error":{"code":"not_found","message":"no such flight"}}')
      return
    }
    const forward = http.get(`${target}${request.url ?? '/'}`, { agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    forward.on('error', () => response.destroy())
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    close: async () => {
      agent.destroy()
      await close()
    },
  }
}
